"""What a terminal says by itself or when it is asked, as values that can never be taken for keys."""

from typing import Literal, NamedTuple

from tau.tui.terminal.port import Background


class DeviceAttributes(NamedTuple):
    """DA1: every terminal answers it, so it tells that the questions before it have been read."""

    features: tuple[int, ...]


class KeyboardFlags(NamedTuple):
    """The kitty keyboard protocol is spoken; these of its flags are on."""

    flags: int


class ModeReport(NamedTuple):
    """DECRPM: whether a private mode is known."""

    mode: int
    state: int

    @property
    def known(self) -> bool:
        """Set, reset or always set; not unknown and not always reset."""
        return self.state in (1, 2, 3)


class ColorReport(NamedTuple):
    """OSC 10, 11 or 12: a colour of the terminal, each part from 0 to 1."""

    what: Literal["foreground", "background", "cursor"]
    red: float
    green: float
    blue: float

    @property
    def shade(self) -> Background:
        """Dark or light, as an eye would say."""
        luminance = 0.2126 * self.red + 0.7152 * self.green + 0.0722 * self.blue
        return "light" if luminance > 0.5 else "dark"


class SchemeReport(NamedTuple):
    """Mode 2031: the colours changed to dark or light ones."""

    background: Background


class NotificationSupport(NamedTuple):
    """OSC 99 is spoken, with these keys."""

    payload: str


class SizeReport(NamedTuple):
    """Mode 2048: the size after a change; pixels are 0 where they are not known."""

    rows: int
    columns: int
    height_px: int = 0
    width_px: int = 0


class CellSize(NamedTuple):
    """CSI 16 t: the pixels of one cell."""

    height_px: int
    width_px: int


class FocusReport(NamedTuple):
    """Mode 1004: the window got or lost the focus."""

    focused: bool


class OtherReply(NamedTuple):
    """A sequence that no key sends and nobody waits for; kept from the application."""

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
    | FocusReport
    | OtherReply
)

_COLORS: dict[str, Literal["foreground", "background", "cursor"]] = {
    "10": "foreground",
    "11": "background",
    "12": "cursor",
}


def parse_reply(sequence: str) -> TerminalReply | None:
    """The reply that a complete sequence is; None for what a key may have sent."""
    introducer = sequence[1:2]
    if introducer == "[":
        return _csi(sequence)
    if introducer == "]" and len(sequence) > 2:
        return _osc(sequence)
    if introducer and introducer in "P_^X" and len(sequence) > 2:
        return OtherReply(sequence)
    return None


def _csi(sequence: str) -> TerminalReply | None:
    body, final = sequence[2:-1], sequence[-1]
    if body.startswith("?"):
        return _private(body[1:], final) or OtherReply(sequence)
    if body[:1] and body[:1] in "<>=":
        return OtherReply(sequence)
    if not body and final in "IO":
        return FocusReport(final == "I")
    if final == "t":
        return _window(body) or OtherReply(sequence)
    # A mouse: CSI M with three bytes, or CSI with three numbers and M. A position: CSI row ; column R, which
    # f3 with modifiers sends too, but only with a 1 in front. A status: CSI n n. Attributes: CSI ... c.
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
    """`rgb:ffff/ffff/ffff` with one to four digits each, `rgba:` with a fourth part, or `#rrggbb`."""
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
    """The numbers between semicolons, without details behind colons; none if one is not a number."""
    numbers: list[int] = []
    for field in body.split(";"):
        digits = field.partition(":")[0]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 8):
            return []
        numbers.append(int(digits))
    return numbers
