"""A text as lines: content, ending and offset of each, and approximate line comparison."""

from collections.abc import Sequence
from functools import cached_property

# Maps one character to one, so offsets in the folded text are offsets in the text.
LOOKALIKES = {
    ord(character): plain
    for plain, characters in {
        "'": "‘’‚‛′´",
        '"': "“”„‟″",
        "-": "‐‑‒–—―−﹘﹣",
        " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    }.items()
    for character in characters
}
EXACT, LINE_ENDS, TRAILING_SPACE, LOOKALIKE = range(4)
TIER_NAMES = ("", "line ends", "trailing whitespace", "look-alike characters (quotes, dashes, spaces)")
MAX_SHOWN_LINES = 12
MAX_SHOWN_CHARS = 200
MAX_PLACES = 1_000


class TextLines:
    """Lines end with a newline, `\\r\\n` included; only a text without any newline ends them with `\\r`.

    With `faithful`, only `\\n` ends a line, and a `\\r` before it is part of the content.
    """

    def __init__(self, text: str, *, faithful: bool = False) -> None:
        old_mac = not faithful and "\r" in text and "\n" not in text
        self.text = text
        self.separator = "\r" if old_mac else "\n"
        self._hays: dict[int, str] = {}
        self._mark = (0, 0)  # the last requested line and its offset: requests mostly go forward
        self.raw = text.split(self.separator)
        self.final_newline = not self.raw[-1]
        if self.final_newline:
            self.raw.pop()

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def bodies(self) -> list[str]:
        """The lines without their endings."""
        if self.separator == "\r" or "\r" not in self.text:
            return self.raw
        bodies = [line.removesuffix("\r") for line in self.raw]
        if not self.final_newline:
            bodies[-1] = self.raw[-1]
        return bodies

    def offset(self, index: int) -> int:
        """Return the start of a line; the end of the text for the line after the last."""
        line, start = self._mark if self._mark[0] <= index else (0, 0)
        self._mark = (index, start + sum(map(len, self.raw[line:index])) + index - line)
        return min(self._mark[1], len(self.text))

    def ending(self, index: int) -> str:
        """Return the ending of a line; empty for an unterminated last line."""
        if index == len(self.raw) - 1 and not self.final_newline:
            return ""
        if self.separator == "\n" and self.raw[index].endswith("\r"):
            return "\r\n"
        return self.separator

    def usual_ending(self, index: int) -> str:
        """Return the ending for a new line before `index`: that of the line above, else below."""
        for near in (index - 1, index, index - 2):
            if 0 <= near < len(self.raw) and self.ending(near):
                return self.ending(near)
        return self.separator

    def places(self, wanted: list[str], tier: int) -> list[int]:
        """Find the lines at which `wanted`, one line or more, starts, up to MAX_PLACES + 1."""
        hay = self._hay(tier)
        needle = "\n" + folded("\n".join(wanted), tier) + "\n"
        found: list[int] = []
        position, line, counted = hay.find(needle), 0, 0
        while position >= 0 and len(found) <= MAX_PLACES:
            line += hay.count("\n", counted, position)
            counted = position
            found.append(line)
            position = hay.find(needle, position + 1)
        return found

    def _hay(self, tier: int) -> str:
        """Return the text to search at a tier, cached."""
        if tier not in self._hays:
            if self.separator == "\n" and (tier == EXACT or "\r" not in self.text):
                text = f"\n{self.text}" if self.final_newline else f"\n{self.text}\n"
            else:
                text = "\n" + "".join([f"{line}\n" for line in self.bodies])
            self._hays[tier] = text if tier <= LINE_ENDS else folded(text, tier)
        return self._hays[tier]


def folded(text: str, tier: int) -> str:
    """Normalize away the differences that this tier ignores."""
    if tier == EXACT:
        return text
    if tier == LINE_ENDS:
        return "\n".join([line.removesuffix("\r") for line in text.split("\n")]) if "\r" in text else text
    text = "\n".join([line.rstrip() for line in text.split("\n")])
    return text if tier == TRAILING_SPACE or text.isascii() else text.translate(LOOKALIKES)


def visible(text: str) -> str:
    """The text with carriage returns that can be seen."""
    return text.replace("\r", "\\r")


def quoted(lines: Sequence[str], start: int, count: int) -> str:
    """Format lines with their numbers, as `read` shows them."""
    chosen = lines[start : start + min(count, MAX_SHOWN_LINES)]
    rows = [f"{start + index + 1}:{visible(line[:MAX_SHOWN_CHARS])}" for index, line in enumerate(chosen)]
    if count > MAX_SHOWN_LINES:
        rows.append(f"[… {count - MAX_SHOWN_LINES} more lines]")
    return "\n".join(rows)


def line_numbers(indexes: list[int], most: int = 20) -> str:
    """Format zero-based indexes as `3, 7, 12 and 4 more`."""
    shown = ", ".join(str(index + 1) for index in indexes[:most])
    return shown + (f" and {len(indexes) - most} more" if len(indexes) > most else "")
