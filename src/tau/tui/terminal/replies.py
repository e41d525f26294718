"""Terminal reports and replies, as values distinct from keys."""

from typing import Literal, NamedTuple

from tau.tui.terminal.port import Background


class DeviceAttributes(NamedTuple):
    """DA1: every terminal answers it, so it proves that earlier queries have been read."""

    features: tuple[int, ...]


class KeyboardFlags(NamedTuple):
    """The kitty keyboard protocol is supported; these flags are on."""

    flags: int


class ModeReport(NamedTuple):
    """DECRPM: whether a private mode is supported."""

    mode: int
    state: int

    @property
    def known(self) -> bool:
        """Set, reset or always set; not unknown and not always reset."""
        return self.state in (1, 2, 3)


class ColorReport(NamedTuple):
    """OSC 10, 11 or 12: a terminal color, each component from 0 to 1."""

    what: Literal["foreground", "background", "cursor"]
    red: float
    green: float
    blue: float

    @property
    def shade(self) -> Background:
        """Dark or light, by perceived brightness."""
        luminance = 0.2126 * self.red + 0.7152 * self.green + 0.0722 * self.blue
        return "light" if luminance > 0.5 else "dark"


class SchemeReport(NamedTuple):
    """Mode 2031: the color scheme changed to dark or light."""

    background: Background


class NotificationSupport(NamedTuple):
    """OSC 99 is supported, with these keys."""

    payload: str


class SizeReport(NamedTuple):
    """Mode 2048: the size after a change; pixels are 0 if unknown."""

    rows: int
    columns: int
    height_px: int = 0
    width_px: int = 0


class CellSize(NamedTuple):
    """CSI 16 t: the size of a cell in pixels."""

    height_px: int
    width_px: int


class CursorReport(NamedTuple):
    """DECXCPR: where the cursor is, counted from 1."""

    row: int
    column: int


class TerminalVersion(NamedTuple):
    """XTVERSION: the name of the terminal and its version."""

    text: str


class TerminalModel(NamedTuple):
    """DA2: numbers that tell some terminals apart."""

    numbers: tuple[int, ...]


class FocusReport(NamedTuple):
    """Mode 1004: the window gained or lost focus."""

    focused: bool


class OtherReply(NamedTuple):
    """A sequence that is neither a key nor an expected reply; hidden from the application."""

    raw: str


TerminalReply = (
    DeviceAttributes
    | KeyboardFlags
    | ModeReport
    | ColorReport
    | SchemeReport
    | NotificationSupport
    | SizeReport
    | CellSize
    | CursorReport
    | TerminalVersion
    | TerminalModel
    | FocusReport
    | OtherReply
)

_COLORS: dict[str, Literal["foreground", "background", "cursor"]] = {
    "10": "foreground",
    "11": "background",
    "12": "cursor",
}


def parse_reply(sequence: str) -> TerminalReply | None:
    """Parse a complete sequence as a reply; None if a key may have sent it."""
    introducer = sequence[1:2]
    if introducer == "[":
        return _csi(sequence)
    if introducer == "]" and len(sequence) > 2:
        return _osc(sequence)
    if introducer and introducer in "P_^X" and len(sequence) > 2:
        if sequence.startswith("\x1bP>|"):
            return TerminalVersion(sequence[4:].removesuffix("\x07").removesuffix("\x1b\\"))
        return OtherReply(sequence)
    return None


def _csi(sequence: str) -> TerminalReply | None:
    body, final = sequence[2:-1], sequence[-1]
    if body.startswith("?"):
        return _private(body[1:], final) or OtherReply(sequence)
    if body.startswith(">") and final == "c":
        return TerminalModel(tuple(_numbers(body[1:])))
    if body[:1] and body[:1] in "<>=":
        return OtherReply(sequence)
    if not body and final in "IO":
        return FocusReport(final == "I")
    if final == "t":
        return _window(body) or OtherReply(sequence)
    # Mouse: CSI M with three bytes, or CSI with three numbers and M. Position: CSI row ; column R, which
    # f3 with modifiers also sends, but only with a leading 1. Status: CSI n n. Attributes: CSI ... c.
    if body.startswith("M") or (final == "M" and body):
        return OtherReply(sequence)
    if (final == "R" and ";" in body and not body.startswith("1;")) or (final in "nc" and body):
        return OtherReply(sequence)
    return None


def _private(body: str, final: str) -> TerminalReply | None:
    if final == "y" and body.endswith("$"):
        numbers = _numbers(body[:-1])
        return ModeReport(numbers[0], numbers[1]) if len(numbers) == 2 else None
    numbers = _numbers(body)
    if final == "c":
        return DeviceAttributes(tuple(numbers))
    if final == "R" and len(numbers) in (2, 3) and numbers[0] and numbers[1]:
        return CursorReport(numbers[0], numbers[1])
    if final == "u" and len(numbers) == 1:
        return KeyboardFlags(numbers[0])
    if final == "n" and len(numbers) == 2 and numbers[0] == 997 and numbers[1] in (1, 2):
        return SchemeReport("dark" if numbers[1] == 1 else "light")
    return None


def _window(body: str) -> TerminalReply | None:
    numbers = _numbers(body)
    if len(numbers) == 5 and numbers[0] == 48 and numbers[1] and numbers[2]:
        return SizeReport(*numbers[1:])
    if len(numbers) == 3 and numbers[0] == 6 and numbers[1] and numbers[2]:
        return CellSize(numbers[1], numbers[2])
    return None


def _osc(sequence: str) -> TerminalReply:
    body = sequence[2:].removesuffix("\x07").removesuffix("\x1b\\")
    number, _, value = body.partition(";")
    if number in _COLORS:
        parts = _color(value)
        return ColorReport(_COLORS[number], *parts) if parts else OtherReply(sequence)
    if number == "99":
        return NotificationSupport(value)
    return OtherReply(sequence)


def _color(value: str) -> tuple[float, float, float] | None:
    """Parse `rgb:ffff/ffff/ffff` with one to four digits each, `rgba:` with a fourth part, or `#rrggbb`."""
    if value.startswith("#") and len(value) in (4, 7, 13):
        size = (len(value) - 1) // 3
        parts = [value[1 + size * at : 1 + size * (at + 1)] for at in range(3)]
    else:
        kind, _, rest = value.partition(":")
        parts = rest.split("/")[:3] if kind in ("rgb", "rgba") else []
    try:
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    except ValueError:
        return None
    return red, green, blue


def _numbers(body: str) -> list[int]:
    """Parse semicolon-separated numbers, ignoring parts after colons; empty if one is not a number."""
    numbers: list[int] = []
    for field in body.split(";"):
        digits = field.partition(":")[0]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 8):
            return []
        numbers.append(int(digits))
    return numbers
