"""Soft wrap: where the rows of a line begin, and which cell a column has.

Rows break after blanks and beside wide characters, else between two units; nothing is dropped at a break: the
joined rows are the line. One cell at the right stays free for the cursor; a blank that does not fit hangs
there, so that a word does not jump when a blank is typed after it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from tau.tui.style import Style
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.widgets.editor.pastes import Pastes
from tau.tui.widgets.editor.units import (
    HIDDEN,
    LONG_CHARS,
    MARKER,
    TAB,
    LineUnits,
    compare_lines,
    measure_if_needed,
)

TAB_CELLS = 4
HIDDEN_SIGN = "\ufffd"
_KEPT_LINES = 4_096
_KEPT_CHARS = 1_000_000
_UNIT_CHARS = 64
"""A change does not affect units further away than this."""
_PLAIN = Style()
_STANDING_ALONE = (2, MARKER)


class WrapLayout:
    """Wraps lines at one width; each line is laid out once until it changes."""

    __slots__ = ("_chars", "_last_long", "_pastes", "_rows", "cells", "hangs")

    def __init__(self, pastes: Pastes, cells: int = 79) -> None:
        self._pastes = pastes
        self._rows: dict[str, list[int]] = {}
        self._chars = 0
        self._last_long = ""
        self.cells = max(cells, 1)
        self.hangs = True
        """Whether there is an extra cell for a hanging blank and the cursor."""

    def use(self, width: int) -> None:
        """Set the row width, including the cursor's cell."""
        cells, hangs = max(width - 1, 1), width > 1
        if (cells, hangs) != (self.cells, self.hangs):
            self.cells, self.hangs = cells, hangs
            self.forget()

    def forget(self) -> None:
        """Drop the cache: marker labels may have changed."""
        self._rows.clear()
        self._chars = 0

    def rows(self, line: str) -> list[int]:
        """Return the columns where its rows begin; the first is 0."""
        rows = self._rows.get(line)
        if rows is None:
            rows = self._resume_layout(line) if len(line) >= LONG_CHARS else [0, *self._breaks(line, 0)]
            self._chars += len(line)
            if len(self._rows) >= _KEPT_LINES or self._chars > _KEPT_CHARS:
                self.forget()
                self._chars = len(line)
            self._rows[line] = rows
        return rows

    def _breaks(self, line: str, start: int) -> Iterator[int]:
        """Yield where the rows after the one at `start` begin."""
        units = measure_if_needed(line)
        if units is None:
            return self._narrow(line, start)
        if units.sums and self.cells > 1:
            return self._summed(line, units, start)
        return self._wrapped(line, units, start)

    def _resume_layout(self, line: str) -> list[int]:
        """Return the rows of a long line, reusing those of the last layout where unchanged."""
        last, self._last_long = self._last_long, line
        known = self._rows.get(last)
        same = compare_lines(last, line) if known is not None else None
        if known is None or same is None:
            return [0, *self._breaks(line, 0)]
        # A row's end is decided within the next row.
        rows = known[: max(bisect_right(known, same.prefix - _UNIT_CHARS) - 2, 1)]
        meets = len(line) - same.suffix + _UNIT_CHARS
        for start in self._breaks(line, rows[-1]):
            at = bisect_left(known, start - same.delta) if start >= meets else len(known)
            if at < len(known) and known[at] == start - same.delta:
                return rows + [row + same.delta for row in known[at:]]
            rows.append(start)
        return rows

    def row_of(self, line: str, column: int) -> int:
        """Return the row of the cursor at `column`."""
        return bisect_right(self.rows(line), column) - 1

    def row_end(self, line: str, row: int) -> int:
        rows = self.rows(line)
        return rows[row + 1] if row + 1 < len(rows) else len(line)

    def cell_of(self, line: str, row: int, column: int) -> int:
        """Return how many cells of the row are before `column`."""
        start = self.rows(line)[row]
        units = measure_if_needed(line)
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
        """Return the last column of the row at or before `cell`."""
        start, end = self.rows(line)[row], self.row_end(line, row)
        units = measure_if_needed(line)
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
        """Return the displayed text of the columns [start, end), the first being in `cell`."""
        units = measure_if_needed(line)
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

    def _cells(self, line: str, units: LineUnits, at: int, cell: int) -> int:
        """Return the width of a unit that begins in `cell`, at most a row."""
        cells = units.cells[at]
        if cells == TAB:
            return max(min(TAB_CELLS - cell % TAB_CELLS, self.cells - cell), 1)
        if cells == MARKER:
            cells = visible_width(self._pastes[line[units.starts[at]]].label)
        elif cells == HIDDEN:
            cells = 1
        return min(cells, self.cells)

    def _narrow(self, line: str, start: int) -> Iterator[int]:
        """Wrap a line of one-cell characters."""
        cells = self.cells
        while len(line) - start > cells:
            end = start + cells
            if line[end] == " " and self.hangs:
                end += 1
            else:
                end = line.rfind(" ", start, end) + 1 or end
            yield end
            start = end

    def _summed(self, line: str, units: LineUnits, start: int) -> Iterator[int]:
        """Wrap a line without tabs, markers and hidden characters, using its cell sums."""
        sums, starts = units.sums, units.starts
        first = bisect_left(starts, start)
        while sums[-1] - sums[first] > self.cells:
            at = bisect_right(sums, sums[first] + self.cells, first) - 1
            if self.hangs and line[starts[at]] == " ":
                at += 1
            else:
                at = next((end for end in range(at, first, -1) if _breaks_behind(line, units, end - 1)), at)
            yield starts[at]
            first = at

    def _wrapped(self, line: str, units: LineUnits, start: int) -> Iterator[int]:
        first = at = breakable = bisect_left(units.starts, start)
        cell = 0
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
            yield units.starts[at]
            first, cell = at, 0


def _breaks_behind(line: str, units: LineUnits, at: int) -> bool:
    if units.cells[at] in _STANDING_ALONE or line[units.starts[at]] in " \t":
        return True
    return at + 1 < len(units.cells) and units.cells[at + 1] in _STANDING_ALONE
