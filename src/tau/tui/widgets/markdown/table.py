"""Lays out tables: column widths and rows, or records if columns would be too narrow."""

from collections.abc import Sequence

from tau.tui.style import Theme
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap

_WIDE_ENOUGH = 8
"""A column narrower than this, and than its text, makes the table unreadable."""


class Columns:
    """Column layout from a table's first rows: titles, alignment, and preferred widths."""

    def __init__(self, titles: Sequence[str], aligns: Sequence[str], sample: Sequence[Sequence[str]]) -> None:
        self.titles = titles
        self.aligns = aligns
        self._wanted = [
            max([_widest(row[at]) for row in (titles, *sample)], default=0) for at in range(len(titles))
        ]
        self._fitted: dict[int, list[int] | None] = {}

    def widths(self, available: int) -> list[int] | None:
        """Return the column widths for this space; None if records are better."""
        if available not in self._fitted:
            if len(self._fitted) > 8:
                self._fitted.clear()
            self._fitted[available] = self._fit(available)
        return self._fitted[available]

    def are_tight(self, available: int) -> bool:
        """Whether cells need more than one row, so that rules between rows improve readability."""
        return self.widths(available) != [max(width, 1) for width in self._wanted]

    def _fit(self, available: int) -> list[int] | None:
        wanted = [max(width, 1) for width in self._wanted]
        room = available - 3 * (len(wanted) - 1)
        if sum(wanted) <= room:
            return wanted
        if sum(min(width, _WIDE_ENOUGH) for width in wanted) > room:
            return None
        widths = list(wanted)
        # Narrow columns keep their preferred width; the others share the rest evenly.
        by_width = sorted(range(len(wanted)), key=lambda at: wanted[at])
        for position, at in enumerate(by_width):
            share = room // (len(wanted) - position)
            widths[at] = min(wanted[at], share)
            room -= widths[at]
        return widths


def _widest(cell: str) -> int:
    return max([visible_width(line) for line in cell.split("\n")]) if "\n" in cell else visible_width(cell)


def table_rows(
    columns: Columns, rows: Sequence[Sequence[str]], first_row: int, width: int, theme: Theme
) -> list[str]:
    """Render (part of) a table at a width."""
    if theme.linear:
        return _spoken(columns, rows, first_row, width)
    widths = columns.widths(width)
    if widths is None:
        return _records(columns, rows, first_row, width, theme)
    border, symbols = theme["tableBorder"], theme.symbols.table
    between = f" {border(symbols[10])} "
    out: list[str] = []
    line = symbols[9]
    rule = border(f"{line}{symbols[4]}{line}".join([line * cells for cells in widths]))
    if not first_row:
        out += _cells(columns.titles, columns.aligns, widths, between)
        out.append(rule)
    is_tight = columns.are_tight(width)
    for at, row in enumerate(rows, first_row):
        if is_tight and at:
            out.append(rule)
        out += _cells(row, columns.aligns, widths, between)
    return out


def _cells(cells: Sequence[str], aligns: Sequence[str], widths: Sequence[int], between: str) -> list[str]:
    wrapped = [
        wrap(cell, width) if "\n" in cell or visible_width(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    last = len(widths) - 1
    out: list[str] = []
    for at in range(max([len(rows) for rows in wrapped])):
        pieces = [
            _aligned(rows[at] if at < len(rows) else "", width, align, column == last)
            for column, (rows, width, align) in enumerate(zip(wrapped, widths, aligns, strict=True))
        ]
        out.append(between.join(pieces))
    return out


def _aligned(text: str, width: int, align: str, is_last: bool) -> str:
    blanks = width - visible_width(text)
    if align == "right":
        return " " * blanks + text
    before = blanks // 2 if align == "center" else 0
    return " " * before + text + ("" if is_last else " " * (blanks - before))


def _records(
    columns: Columns, rows: Sequence[Sequence[str]], first_row: int, width: int, theme: Theme
) -> list[str]:
    """Render one line per cell, with its column title."""
    out: list[str] = []
    rule = theme["tableBorder"](theme.symbols.table[9] * min(width, 3))
    for at, row in enumerate(rows, first_row):
        if at:
            out.append(rule)
        for title, cell in zip(columns.titles, row, strict=True):
            if cell:
                out += wrap(f"{title}: {cell}" if title else cell, width)
    return out or wrap(", ".join(columns.titles), width)


def _spoken(columns: Columns, rows: Sequence[Sequence[str]], first_row: int, width: int) -> list[str]:
    out: list[str] = []
    if not first_row:
        out += wrap(f"Table with {len(columns.titles)} columns: {', '.join(columns.titles)}", width)
    for number, row in enumerate(rows, first_row + 1):
        cells = [
            f"{title}: {cell}" if title else cell
            for title, cell in zip(columns.titles, row, strict=True)
            if cell
        ]
        out += wrap(f"Row {number}: {'; '.join(cells)}".replace("\n", ", "), width)
    return out
