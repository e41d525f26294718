"""Soft wrap: where the rows of a line begin, and which cell of a row a column has.

Rows break behind blanks and beside wide characters, else between two units; nothing is lost at a break: the
rows of a line joined are the line. One cell at the right stays free for the cursor; a blank that does not fit
any more hangs there, so that a word does not jump when a blank is typed behind it.
"""

from bisect import bisect_left, bisect_right

from tau.tui.style import Style
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.widgets.editor.pastes import Pastes
from tau.tui.widgets.editor.units import HIDDEN, MARKER, TAB, Shape, shape

TAB_CELLS = 4
HIDDEN_SIGN = "\ufffd"
_KEPT_LINES = 4_096
_PLAIN = Style()
_STANDING_ALONE = (2, MARKER)


class Layout:
    """The rows of lines at one width; each line is laid out once, as long as it does not change."""

    __slots__ = ("_pastes", "_rows", "cells", "hangs")

    def __init__(self, pastes: Pastes, cells: int = 79) -> None:
        self._pastes = pastes
        self._rows: dict[str, list[int]] = {}
        self.cells = max(cells, 1)
        self.hangs = True
        """Whether there is a cell behind the last one for a hanging blank and for the cursor."""

    def use(self, width: int) -> None:
        """Lay out for rows of `width` cells, the one for the cursor included."""
        cells, hangs = max(width - 1, 1), width > 1
        if (cells, hangs) != (self.cells, self.hangs):
            self.cells, self.hangs = cells, hangs
            self._rows.clear()

    def forget(self) -> None:
        """The labels of markers may have changed."""
        self._rows.clear()

    def rows(self, line: str) -> list[int]:
        """The columns where its rows begin; the first is 0."""
        found = self._rows.get(line)
        if found is None:
            if len(self._rows) >= _KEPT_LINES:
                self._rows.clear()
            units = shape(line)
            if units is None:
                found = self._narrow(line)
            else:
                found = (
                    self._summed(line, units) if units.sums and self.cells > 1 else self._wrapped(line, units)
                )
            self._rows[line] = found
        return found

    def row_of(self, line: str, column: int) -> int:
        """The number of the row in which the cursor stands at `column`."""
        return bisect_right(self.rows(line), column) - 1

    def row_end(self, line: str, row: int) -> int:
        rows = self.rows(line)
        return rows[row + 1] if row + 1 < len(rows) else len(line)

    def cell_of(self, line: str, row: int, column: int) -> int:
        """How many cells of the row are in front of `column`."""
        start = self.rows(line)[row]
        units = shape(line)
        if units is None:
            return column - start
        if units.sums and self.cells > 1:
            sums, starts = units.sums, units.starts
            return sums[bisect_left(starts, column)] - sums[bisect_left(starts, start)]
        cell = 0
        for at in range(bisect_left(units.starts, start), bisect_left(units.starts, column)):
            cell += self._cells(line, units, at, cell)
        return cell

    def column_at(self, line: str, row: int, cell: int) -> int:
        """The column of the row that is nearest to `cell` without going beyond it."""
        start, end = self.rows(line)[row], self.row_end(line, row)
        units = shape(line)
        is_last = row + 1 == len(self.rows(line))
        if units is None:
            return min(start + cell, end if is_last else end - 1)
        first, stop = bisect_left(units.starts, start), bisect_left(units.starts, end)
        used = 0
        for at in range(first, stop):
            used += self._cells(line, units, at, used)
            if used > cell:
                return units.starts[at]
        return end if is_last else units.starts[stop - 1]

    def shown(self, line: str, start: int, end: int, cell: int = 0, marker: Style = _PLAIN) -> str:
        """What is drawn for the columns [start, end), of which the first stands in `cell`."""
        units = shape(line)
        if units is None or (units.sums and self.cells > 1):
            return line[start:end]
        out: list[str] = []
        for at in range(bisect_left(units.starts, start), bisect_left(units.starts, end)):
            cells = self._cells(line, units, at, cell)
            out.append(
                self._unit(line[units.starts[at] : units.starts[at + 1]], units.cells[at], cells, marker)
            )
            cell += cells
        return "".join(out)

    def _unit(self, text: str, kind: int, cells: int, marker: Style) -> str:
        if kind == TAB:
            return " " * cells
        if kind == MARKER:
            return marker(truncate(self._pastes[text].label, cells))
        return text if kind == cells else HIDDEN_SIGN

    def _cells(self, line: str, units: Shape, at: int, cell: int) -> int:
        """The cells of a unit that begins in `cell`; never more than a row has."""
        cells = units.cells[at]
        if cells == TAB:
            return max(min(TAB_CELLS - cell % TAB_CELLS, self.cells - cell), 1)
        if cells == MARKER:
            cells = visible_width(self._pastes[line[units.starts[at]]].label)
        elif cells == HIDDEN:
            cells = 1
        return min(cells, self.cells)

    def _narrow(self, line: str) -> list[int]:
        """The rows of a line in which every character has one cell."""
        cells, start = self.cells, 0
        rows = [0]
        while len(line) - start > cells:
            end = start + cells
            if line[end] == " " and self.hangs:
                end += 1
            else:
                end = line.rfind(" ", start, end) + 1 or end
            rows.append(end)
            start = end
        return rows

    def _summed(self, line: str, units: Shape) -> list[int]:
        """The rows of a line without tabs, markers and hidden characters, found by the sums of its cells."""
        sums, starts = units.sums, units.starts
        rows, first = [0], 0
        while sums[-1] - sums[first] > self.cells:
            at = bisect_right(sums, sums[first] + self.cells, first) - 1
            if self.hangs and line[starts[at]] == " ":
                at += 1
            else:
                at = next((end for end in range(at, first, -1) if _breaks_behind(line, units, end - 1)), at)
            rows.append(starts[at])
            first = at
        return rows

    def _wrapped(self, line: str, units: Shape) -> list[int]:
        """The rows of any line."""
        rows = [0]
        first = at = cell = breakable = 0
        while at < len(units.cells):
            cells = self._cells(line, units, at, cell)
            if cell + cells <= self.cells:
                cell += cells
                at += 1
                if _breaks_behind(line, units, at - 1):
                    breakable = at
                continue
            if self.hangs and line[units.starts[at]] in " \t":
                at += 1
            elif breakable > first:
                at = breakable
            rows.append(units.starts[at])
            first, cell = at, 0
        return rows


def _breaks_behind(line: str, units: Shape, at: int) -> bool:
    if units.cells[at] in _STANDING_ALONE or line[units.starts[at]] in " \t":
        return True
    return at + 1 < len(units.cells) and units.cells[at + 1] in _STANDING_ALONE
