"""A text as numbered lines that keep their line ends, located by offset instead of splitting the text."""

from bisect import bisect_left

_CHUNK_CHARS = 16 * 1024


def separator_of(text: str) -> str:
    """The line separator: LF (with or without a CR before it), or CR in a text without any LF."""
    return "\r" if "\n" not in text and "\r" in text else "\n"


def split_lines(text: str) -> list[str]:
    """All lines without their ends: the rows that line numbers count."""
    separator = separator_of(text)
    lines = text.split(separator)
    if not lines[-1]:
        lines.pop()
    if "\r\n" in text:
        # Only a CR before an LF is part of the line end; one at the end of the text is content.
        ended = len(lines) if text.endswith("\n") else len(lines) - 1
        lines[:ended] = [line.removesuffix("\r") for line in lines[:ended]]
    return lines


class NumberedLines:
    """Lines are numbered from 1. Offsets are cached."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.separator = separator_of(text)
        self._newlines = [0]  # separators before each chunk counted so far
        self._counted = 0

    @property
    def count(self) -> int:
        self._count_to(len(self.text) + 1)
        return self._newlines[-1] + self.ends_open

    @property
    def ends_open(self) -> bool:
        """Whether the last line has no line end."""
        return bool(self.text) and not self.text.endswith(self.separator)

    def has(self, number: int) -> bool:
        start = self._start(number) if number >= 1 else None
        return start is not None and start < len(self.text)

    def start(self, number: int) -> int:
        """The offset at which a line begins; for the number after the last one, the end of the text."""
        start = self._start(number)
        return len(self.text) if start is None else start

    def row(self, number: int) -> str:
        """A line without its end."""
        start = self.start(number)
        end = self.text.find(self.separator, start)
        return self.text[start:] if end < 0 else self.text[start:end].removesuffix("\r")

    def rows(self, first: int, last: int) -> list[str]:
        """The existing lines from `first` to `last`, without their ends."""
        *ended, rest = self.text[self.start(max(first, 1)) : self.start(last + 1)].split(self.separator)
        rows = [row.removesuffix("\r") for row in ended]
        return [*rows, rest] if rest else rows

    def end_of(self, number: int) -> str:
        """The line end: `\\n`, `\\r\\n`, `\\r`, or nothing for an open last line."""
        if self.is_open(number):
            return ""
        if self.separator == "\r":
            return "\r"
        end = self.start(number + 1)
        return "\r\n" if end > 1 and self.text[end - 2] == "\r" else "\n"

    def end_near(self, number: int) -> str:
        """The line end for a new line next to line `number`: that of this line, or of the one before it."""
        candidates = (self.end_of(near) for near in (number, number - 1) if self.has(near))
        return next(filter(None, candidates), self.separator)

    def is_open(self, number: int) -> bool:
        """Whether this is a last line without a line end."""
        return self.ends_open and self.start(number + 1) == len(self.text)

    def _start(self, number: int) -> int | None:
        """None if the text has fewer than `number - 1` line ends."""
        wanted = number - 1
        if wanted <= 0:
            return 0
        while self._newlines[-1] < wanted:
            if self._counted > len(self.text):
                return None
            self._count_to(self._counted + _CHUNK_CHARS)
        chunk = bisect_left(self._newlines, wanted) - 1
        missing = wanted - self._newlines[chunk]
        offset = chunk * _CHUNK_CHARS
        # Split the chunk, in C, up to the wanted line; the rest stays in one piece.
        pieces = self.text[offset : offset + _CHUNK_CHARS].split(self.separator, missing)
        return offset + min(len(self.text) - offset, _CHUNK_CHARS) - len(pieces[missing])

    def _count_to(self, offset: int) -> None:
        while self._counted < min(offset, len(self.text) + 1):
            end = self._counted + _CHUNK_CHARS
            count = self.text.count(self.separator, self._counted, end)
            self._newlines.append(self._newlines[-1] + count)
            self._counted = end
