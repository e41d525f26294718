"""Escape sequences in text, and the styles open at a given point."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

# A string (OSC, DCS, APC, PM, SOS) ends at any control character: an unfinished one takes linear time.
_ESCAPE = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"
    r"|[\]P_^X][^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|[ -/]+[0-~]|[0-OQ-WYZ`-~])"
)
LINK_END = "\x1b]8;;\x1b\\"
_CACHED_SEQUENCES = 1024

Slot = str
"""What one parameter changes: "fg", "bg", "bold" and so on; each has at most one open value."""

CLOSERS: dict[Slot, str] = {
    "fg": "39",
    "bg": "49",
    "bold": "22",
    "dim": "22",
    "italic": "23",
    "underline": "24",
    "blink": "25",
    "inverse": "27",
    "conceal": "28",
    "strike": "29",
    "overline": "55",
    "underlineColor": "59",
}
_OPENERS = {
    "1": "bold",
    "2": "dim",
    "3": "italic",
    "4": "underline",
    "5": "blink",
    "6": "blink",
    "7": "inverse",
    "8": "conceal",
    "9": "strike",
    "21": "underline",
    "53": "overline",
}
_CLOSED: dict[str, tuple[Slot, ...]] = {
    "39": ("fg",),
    "49": ("bg",),
    "22": ("bold", "dim"),
    "23": ("italic",),
    "24": ("underline",),
    "25": ("blink",),
    "27": ("inverse",),
    "28": ("conceal",),
    "29": ("strike",),
    "55": ("overline",),
    "59": ("underlineColor",),
}
_PRIVATE = ("<", "=", ">", "?")
_EXTENDED = {"38": "fg", "48": "bg", "58": "underlineColor"}


class SgrChange(NamedTuple):
    """One parameter of an SGR sequence: sets or clears a slot; the slot "" means all."""

    slot: Slot
    value: str


StyleMark = tuple[int, str]
"""A sequence and its offset in the text without sequences."""


@cache
def escape_pattern() -> re.Pattern[str]:
    """Match one whole escape sequence."""
    return re.compile(_ESCAPE)


def strip_escapes(text: str) -> str:
    """Remove escape sequences; an unfinished one stays."""
    return escape_pattern().sub("", text) if "\x1b" in text else text


def split_escapes(text: str) -> tuple[str, list[StyleMark]]:
    """Split text into plain text and its escape sequences with their offsets."""
    if "\x1b" not in text:
        return text, []
    pieces: list[str] = []
    marks: list[StyleMark] = []
    length = last = 0
    for match in escape_pattern().finditer(text):
        start, end = match.span()
        if start > last:
            pieces.append(text[last:start])
            length += start - last
        marks.append((length, text[start:end]))
        last = end
    pieces.append(text[last:])
    return "".join(pieces), marks


_changes: dict[str, tuple[SgrChange, ...]] = {}


def is_sgr(sequence: str) -> bool:
    """Whether a whole escape sequence sets colors or attributes."""
    return sequence[-1:] == "m" and sequence[:2] == "\x1b[" and sequence[2:3] not in _PRIVATE


def is_style(sequence: str) -> bool:
    """Whether a whole escape sequence is allowed in a row: SGR or a hyperlink."""
    return is_sgr(sequence) or sequence.startswith("\x1b]8;")


def parse_sgr(sequence: str) -> tuple[SgrChange, ...]:
    """Return what an SGR sequence changes; unknown parameters are ignored."""
    changes = _changes.get(sequence)
    if changes is None:
        if len(_changes) >= _CACHED_SEQUENCES:
            _changes.clear()
        changes = _changes[sequence] = tuple(_parse(sequence[2:-1]))
    return changes


def _parse(parameters: str) -> Iterable[SgrChange]:
    numbers = parameters.split(";")
    at = 0
    while at < len(numbers):
        number = numbers[at]
        at += 1
        if number in ("", "0", "00"):
            yield SgrChange("", "")
        elif number in _OPENERS:
            yield SgrChange(_OPENERS[number], number)
        elif number in _CLOSED:
            for slot in _CLOSED[number]:
                yield SgrChange(slot, "")
        elif number in _EXTENDED:
            length = {"5": 2, "2": 4}.get(numbers[at] if at < len(numbers) else "", 0)
            values = numbers[at : at + length]
            at += length or 1
            if length and len(values) == length and all(_is_byte(value) for value in values):
                yield SgrChange(_EXTENDED[number], ";".join([number, *values]))
        elif number.isdecimal() and len(number) <= 3:
            yield from _color_16(int(number))
        elif ":" in number:
            yield from _with_colons(number)


def _color_16(number: int) -> Iterable[SgrChange]:
    if 30 <= number <= 37 or 90 <= number <= 97:
        yield SgrChange("fg", str(number))
    elif 40 <= number <= 47 or 100 <= number <= 107:
        yield SgrChange("bg", str(number))


def _with_colons(number: str) -> Iterable[SgrChange]:
    """Parse underline kinds, and colors as `38:5:n`, `38:2:r:g:b` or with a color space, `38:2::r:g:b`."""
    kind, *values = number.split(":")
    if kind == "4" and values in (["0"], ["1"], ["2"], ["3"], ["4"], ["5"]):
        yield SgrChange("underline", "" if values == ["0"] else number)
    elif kind in _EXTENDED:
        numbers = [*values[:1], *values[-3:]] if values[:1] == ["2"] and len(values) in (4, 5) else values
        is_color = len(numbers) == {"5": 2, "2": 4}.get(numbers[0])
        if is_color and all(map(_is_byte, numbers)):
            yield SgrChange(_EXTENDED[kind], ";".join([kind, *numbers]))


def _is_byte(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) <= 3 and int(value) <= 255


class Styles:
    """Tracks the open styles: feed it sequences in order; it returns what opens and closes them."""

    __slots__ = ("link", "slots")

    def __init__(self) -> None:
        self.slots: dict[Slot, str] = {}
        self.link = ""
        """The sequence that opened the current hyperlink, or ""."""

    def feed(self, sequence: str) -> bool:
        """Apply a sequence; returns whether it was a style or a link."""
        changes = _changes.get(sequence)
        if changes is None:
            if not is_sgr(sequence):
                return self._feed_link(sequence)
            changes = parse_sgr(sequence)
        slots = self.slots
        for slot, value in changes:
            if value:
                slots.pop(slot, None)
                slots[slot] = value
            elif slot:
                slots.pop(slot, None)
            else:
                slots.clear()
        return True

    def _feed_link(self, sequence: str) -> bool:
        if not sequence.startswith("\x1b]8;"):
            return False
        target = sequence[4:].rstrip("\x07\x1b\\\x9c").partition(";")[2]
        self.link = sequence if target else ""
        return True

    def __bool__(self) -> bool:
        return bool(self.slots or self.link)

    def opening(self) -> str:
        """Return the sequences that open these styles in a plain row."""
        return f"{open_slots(self.slots)}{self.link}"

    def closing(self) -> str:
        """Return the sequences that close these styles and nothing else."""
        return f"{LINK_END if self.link else ''}{close_slots(self.slots)}"


def open_slots(slots: dict[Slot, str]) -> str:
    """Return one sequence that opens all slots."""
    return f"\x1b[{';'.join(slots.values())}m" if slots else ""


def close_slots(slots: Iterable[Slot]) -> str:
    """Return one sequence that closes only these slots."""
    closers = dict.fromkeys(CLOSERS[slot] for slot in slots)
    return f"\x1b[{';'.join(closers)}m" if closers else ""


def reopen_style(text: str, opening: str) -> str:
    """Reopen a style wherever a sequence in the text closes part of it."""
    slots = {slot for slot, _ in parse_sgr(opening)}
    out: list[str] = []
    last = 0
    for match in escape_pattern().finditer(text):
        sequence, end = match[0], match.end()
        if end == len(text) or not is_sgr(sequence):
            continue
        if any(not value and (not slot or slot in slots) for slot, value in parse_sgr(sequence)):
            out += (text[last:end], opening)
            last = end
    return "".join(out) + text[last:] if out else text


def build_row(
    plain: str, marks: list[StyleMark], start: int, end: int, styles: Styles, first: int
) -> tuple[str, int]:
    """Return the characters [start, end) with their sequences, opened and closed, and the next mark index.

    `styles` are those open at mark `first`; this feeds them. Sequences that are neither styles nor links stay
    in place; those in a gap before `start` come first in the row.
    """
    out: list[str] = []
    at = first
    count = len(marks)
    while at < count and marks[at][0] <= start:
        if not styles.feed(marks[at][1]):
            out.append(marks[at][1])
        at += 1
    if start < end:
        if styles:
            out.append(styles.opening())
        last = start
        while at < count and marks[at][0] < end:
            position, sequence = marks[at]
            out += (plain[last:position], sequence)
            styles.feed(sequence)
            last = position
            at += 1
        out.append(plain[last:end])
        if styles:
            out.append(styles.closing())
    while at < count and marks[at][0] == end:
        if not styles.feed(marks[at][1]):
            out.append(marks[at][1])
        at += 1
    return "".join(out), at
