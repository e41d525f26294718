"""A text as lines: what each says, how it ends, where it starts, and how lines compare loosely."""

from functools import cached_property

# One character for one character, so that places in the folded text are places in the text.
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
TIER_NAMES = ("", "line ends", "trailing white space", "look-alike characters (quotes, dashes, spaces)")
MAX_SHOWN_LINES = 12
MAX_SHOWN_CHARS = 200
MAX_PLACES = 1_000


class TextLines:
    """Lines end with a newline, `\\r\\n` included; only a text without any newline ends them with `\\r`.

    `faithful` takes the newline alone as the end, so that a `\\r` before it is part of what the line says.
    """

    def __init__(self, text: str, *, faithful: bool = False) -> None:
        old_mac = not faithful and "\r" in text and "\n" not in text
        self.text = text
        self.separator = "\r" if old_mac else "\n"
        self._hays: dict[int, str] = {}
        self._mark = (0, 0)  # the line last asked for and where it starts: the next one is seldom above it
        self.raw = text.split(self.separator)
        self.final_newline = not self.raw[-1]
        if self.final_newline:
            self.raw.pop()

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def bodies(self) -> list[str]:
        """What the lines say, without how they end."""
        if self.separator == "\r" or "\r" not in self.text:
            return self.raw
        bodies = [line.removesuffix("\r") for line in self.raw]
        if not self.final_newline:
            bodies[-1] = self.raw[-1]
        return bodies

    def offset(self, index: int) -> int:
        """Where a line starts; the end of the text for the one after the last."""
        line, start = self._mark if self._mark[0] <= index else (0, 0)
        self._mark = (index, start + sum(map(len, self.raw[line:index])) + index - line)
        return min(self._mark[1], len(self.text))

    def ending(self, index: int) -> str:
        """How a line ends; empty for a last line that does not end."""
        if index == len(self.raw) - 1 and not self.final_newline:
            return ""
        if self.separator == "\n" and self.raw[index].endswith("\r"):
            return "\r\n"
        return self.separator

    def usual_ending(self, index: int) -> str:
        """How a new line before the line `index` should end: as the one above it, else the one below."""
        for near in (index - 1, index, index - 2):
            if 0 <= near < len(self.raw) and self.ending(near):
                return self.ending(near)
        return self.separator

    def places(self, wanted: list[str], tier: int) -> list[int]:
        """The lines at which `wanted` begins, up to MAX_PLACES and one more."""
        if not wanted:
            return []
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
        """The text to search in, made when a tier is first asked for."""
        if tier not in self._hays:
            if self.separator == "\n" and (tier == EXACT or "\r" not in self.text):
                text = f"\n{self.text}" if self.final_newline else f"\n{self.text}\n"
            else:
                text = "\n" + "".join([f"{line}\n" for line in self.bodies])
            self._hays[tier] = text if tier <= LINE_ENDS else folded(text, tier)
        return self._hays[tier]


def folded(text: str, tier: int) -> str:
    """The text with what does not count at this tier taken out of each of its lines."""
    if tier == EXACT:
        return text
    if tier == LINE_ENDS:
        return "\n".join([line.removesuffix("\r") for line in text.split("\n")]) if "\r" in text else text
    text = "\n".join([line.rstrip() for line in text.split("\n")])
    return text if tier == TRAILING_SPACE or text.isascii() else text.translate(LOOKALIKES)


def quoted(lines: list[str], start: int, count: int) -> str:
    """Lines with their numbers, as read shows them."""
    chosen = lines[start : start + min(count, MAX_SHOWN_LINES)]
    rows = [f"{start + index + 1}:{line[:MAX_SHOWN_CHARS]}" for index, line in enumerate(chosen)]
    if count > MAX_SHOWN_LINES:
        rows.append(f"[… {count - MAX_SHOWN_LINES} more lines]")
    return "\n".join(rows)


def line_numbers(indexes: list[int], most: int = 20) -> str:
    """`3, 7, 12 and 4 more`, from indexes that count from 0."""
    shown = ", ".join(str(index + 1) for index in indexes[:most])
    return shown + (f" and {len(indexes) - most} more" if len(indexes) > most else "")
