"""One row of cells, stored as two lists so that a run of text is written with two slice assignments."""

from collections.abc import Sequence

from tests.support.terminal.emulator.look import PLAIN, Look

EMPTY = "\0"
"""A cell that was never written, or was erased. It looks blank but is not text."""
TAIL = ""
"""The second cell of a wide character."""


class Row:
    """Cells of one row. `wrapped` means that it continues the row above.

    Only methods may change `chars`, since they invalidate the cached text.
    """

    __slots__ = ("_text", "chars", "looks", "mark", "wrapped")

    def __init__(self, chars: list[str], looks: list[Look], wrapped: bool = False) -> None:
        self.chars = chars
        self.looks = looks
        self.wrapped = wrapped
        self.mark = ""  # OSC 133
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Its text, without trailing blanks."""
        text = self._text
        if text is None:
            text = self._text = "".join(self.chars).replace(EMPTY, " ").rstrip(" ")
        return text

    def used(self) -> int:
        """The number of cells up to the last written one."""
        chars = self.chars
        end = len(chars)
        while end and chars[end - 1] == EMPTY:
            end -= 1
        return end

    def put(self, start: int, chars: Sequence[str], look: Look) -> None:
        """Write cells; halves of wide characters left beside them are erased."""
        end = start + len(chars)
        mine = self.chars
        self._text = None
        if mine[start] == TAIL:
            self._split(start, look)
        if end < len(mine) and mine[end] == TAIL:
            self._split(end, look)
        mine[start:end] = chars
        self.looks[start:end] = [look] * (end - start)

    def replace(self, at: int, char: str) -> None:
        """Replace a character by another of the same width, with its style."""
        self.chars[at] = char
        self._text = None

    def erase(self, start: int, end: int, look: Look) -> None:
        """Empty the cells from `start` up to `end`."""
        end = min(end, len(self.chars))
        if start < end:
            self.put(start, [EMPTY] * (end - start), look)

    def insert(self, at: int, count: int, look: Look) -> None:
        """Insert empty cells at `at`; what is pushed over the right edge is lost."""
        width = len(self.chars)
        self._text = None
        if self.chars[at] == TAIL:
            self._split(at, look)
        count = min(count, width - at)
        self.chars[at:at] = [EMPTY] * count
        self.looks[at:at] = [look] * count
        if self.chars[width] == TAIL:
            self._split(width, look)
        del self.chars[width:], self.looks[width:]

    def delete(self, at: int, count: int, look: Look) -> None:
        """Delete cells; empty ones come in at the right edge."""
        width = len(self.chars)
        self._text = None
        count = min(count, width - at)
        if self.chars[at] == TAIL:
            self._split(at, look)
        if at + count < width and self.chars[at + count] == TAIL:
            self._split(at + count, look)
        del self.chars[at : at + count], self.looks[at : at + count]
        self.chars += [EMPTY] * count
        self.looks += [look] * count

    def fit(self, columns: int) -> None:
        """Crop it or pad it with empty cells."""
        missing = columns - len(self.chars)
        self._text = None
        if missing > 0:
            self.chars += [EMPTY] * missing
            self.looks += [PLAIN] * missing
        elif missing < 0:
            if self.chars[columns] == TAIL:
                self._split(columns, PLAIN)
            del self.chars[columns:], self.looks[columns:]

    def _split(self, at: int, look: Look) -> None:
        """`at` is the tail of a wide character: erase all its cells."""
        chars = self.chars
        start = at - 1
        while start > 0 and chars[start] == TAIL:
            start -= 1
        end = at + 1
        while end < len(chars) and chars[end] == TAIL:
            end += 1
        chars[start:end] = [EMPTY] * (end - start)
        self.looks[start:end] = [look] * (end - start)


def empty_row(columns: int, look: Look = PLAIN, wrapped: bool = False) -> Row:
    """A row that was never written."""
    return Row([EMPTY] * columns, [look] * columns, wrapped)
