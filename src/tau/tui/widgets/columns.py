"""Components side by side, or one below the other where there is no room for that."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from operator import is_
from typing import NamedTuple

from tau.tui.component import CommitBoundary, Component
from tau.tui.rows import Rows
from tau.tui.style import Theme
from tau.tui.text.cut import fit


class Column(NamedTuple):
    """One column: of a fixed width, or with a share of what the fixed ones leave."""

    component: Component
    width: int | None = None
    min_width: int = 1
    """A flexible column is never narrower: the columns are stacked instead."""
    share: int = 1


class Columns(Component):
    """Columns from left to right."""

    def __init__(self, theme: Theme, columns: Sequence[Column], *, gap: int = 1) -> None:
        self._theme = theme
        self._columns = tuple(columns)
        self._gap = max(gap, 0)
        self._forget()

    def _forget(self) -> None:
        self._width = -1
        self._parts: list[Sequence[str]] = []
        self._rows: Sequence[str] = Rows()
        self._stacked = True

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Other columns."""
        self._columns = tuple(columns)
        self._forget()

    def invalidate(self) -> None:
        self._forget()
        for column in self._columns:
            column.component.invalidate()

    def render(self, width: int) -> Sequence[str]:
        widths = None if self._theme.linear else self._widths(width)
        each = widths or [width] * len(self._columns)
        parts = [column.component.render(room) for column, room in zip(self._columns, each, strict=True)]
        is_same = width == self._width and all(map(is_, parts, self._parts))
        if not is_same or len(parts) != len(self._parts):
            self._width, self._parts, self._stacked = width, parts, widths is None
            self._rows = Rows(parts) if widths is None else self._side_by_side(parts, widths)
        return self._rows

    def seam(self) -> CommitBoundary | None:
        """Stacked: that of the first column that has one. Else the highest live row of any column."""
        seams: list[int] = []
        above = 0
        for column, part in zip(self._columns, self._parts, strict=False):
            seam = column.component.seam()
            if seam is not None and self._stacked:
                deeper = seam.commit_safe_end
                return CommitBoundary(seam.live_start + above, None if deeper is None else deeper + above)
            if seam is not None:
                seams.append(seam.live_start)
            above += len(part)
        return CommitBoundary(min(seams)) if seams else None

    def _widths(self, width: int) -> list[int] | None:
        """The width of each column, or None if they do not fit."""
        if not self._columns:
            return None
        flexible = [column for column in self._columns if column.width is None]
        fixed = sum(max(column.width, 1) for column in self._columns if column.width is not None)
        room = width - fixed - self._gap * (len(self._columns) - 1)
        if room < sum(max(column.min_width, 1) for column in flexible):
            return None
        shares = _shared(room, flexible)
        return [
            max(column.width, 1) if column.width is not None else next(shares) for column in self._columns
        ]

    def _side_by_side(self, parts: list[Sequence[str]], widths: list[int]) -> list[str]:
        blanks = " " * self._gap
        *lefts, right = parts
        rows: list[str] = []
        for *left, last in zip_longest(*lefts, right, fillvalue=""):
            cells = [fit(row, width) for row, width in zip(left, widths, strict=False)]
            cells.append(last)
            row = blanks.join(cells)
            rows.append(row if last else row.rstrip(" "))
        return rows


def _shared(room: int, columns: list[Column]) -> Iterator[int]:
    """The room by shares, each at least its minimum: what a minimum takes too much, the others give."""
    widths = [0] * len(columns)
    open_ones = list(range(len(columns)))
    while open_ones:
        shares = sum(max(columns[at].share, 1) for at in open_ones)
        too_small = [
            at
            for at in open_ones
            if room * max(columns[at].share, 1) // shares < max(columns[at].min_width, 1)
        ]
        if not too_small:
            break
        for at in too_small:
            widths[at] = max(columns[at].min_width, 1)
            room -= widths[at]
            open_ones.remove(at)
    for position, at in enumerate(open_ones):
        shares = sum(max(columns[other].share, 1) for other in open_ones[position:])
        widths[at] = room * max(columns[at].share, 1) // shares
        room -= widths[at]
    return iter(widths)
