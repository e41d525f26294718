"""A terminal line where text can overwrite text."""

from tau.tui.text.sgr import Slot
from tau.tui.text.width import grapheme_width

_MAX_COLUMN = 512
"""The rightmost column a cursor movement may reach."""

Open = dict[Slot, str]
"""The styles that a line leaves open."""


class TabStops:
    """Where tabs lead: every `width` columns, on the whole screen. Set before the first frame."""

    width = 4


TAB_WIDTH = TabStops()


class LineCells:
    """One terminal line: its cells and the cursor. The second cell of a wide character is empty."""

    __slots__ = ("cells", "column")

    def __init__(self) -> None:
        self.cells: list[tuple[str, Open]] = []
        self.column = 0

    def put(self, grapheme: str, style: Open) -> None:
        width = grapheme_width(grapheme)
        if width == 0:
            return
        start, end = self.column, self.column + width
        self._fill(end)
        self._break(start)
        self._break(end)
        self.cells[start:end] = [(grapheme, style), ("", style)][:width]
        self.column = end

    def control(self, piece: str) -> None:
        if piece == "\r":
            self.column = 0
        elif piece == "\x08":
            self.column = max(self.column - 1, 0)
        elif piece == "\t":
            self.column += TAB_WIDTH.width - self.column % TAB_WIDTH.width
        elif piece in "\v\f\u2028\u2029":
            self.put(" ", {})
        elif piece[:2] == "\x1b[" and piece[-1] in "CDGK":
            digits = piece[2:-1]
            if not digits.isdecimal() or len(digits) > 4:
                digits = "" if not digits else str(_MAX_COLUMN)
            self._move(piece[-1], int(digits) if digits else 0)

    def _move(self, kind: str, number: int) -> None:
        if kind == "G":
            self.column = min(max(number, 1), _MAX_COLUMN) - 1
        elif kind == "C":
            self.column = max(min(self.column + max(number, 1), _MAX_COLUMN), self.column)
        elif kind == "D":
            self.column = max(self.column - max(number, 1), 0)
        elif number == 0:
            self._break(self.column)
            del self.cells[self.column :]
        elif number == 1:
            self._break(self.column + 1)
            self.cells[: self.column + 1] = [(" ", {})] * min(self.column + 1, len(self.cells))
        elif number == 2:
            self.cells.clear()

    def _fill(self, length: int) -> None:
        if len(self.cells) < length:
            self.cells += [(" ", {})] * (length - len(self.cells))

    def _break(self, column: int) -> None:
        """Blank the other half of a wide character that is overwritten."""
        if 0 < column < len(self.cells) and not self.cells[column][0]:
            self.cells[column - 1] = self.cells[column] = (" ", {})
