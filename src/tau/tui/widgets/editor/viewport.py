"""Wrapped rows: which are visible, and moving the cursor up and down in them."""

from tau.tui.widgets.editor.document import EditorDocument, Position
from tau.tui.widgets.editor.layout import WrapLayout

Place = tuple[int, int]
"""A line, and one of its rows."""


class Viewport:
    """Remembers the first visible row. Examines only visible lines."""

    __slots__ = ("_top",)

    def __init__(self) -> None:
        self._top: Place = (0, 0)

    def visible(self, lines: list[str], layout: WrapLayout, cursor: Place, height: int) -> list[Place]:
        """Return up to `height` rows, including the cursor's."""
        top = self._top
        if top[0] >= len(lines):
            top = cursor
        top = (top[0], min(top[1], len(layout.rows(lines[top[0]])) - 1))
        if top > cursor:
            top = cursor
        elif not _within(lines, layout, top, cursor, height):
            top = _row_away(lines, layout, *cursor, 1 - height)
        rows = _below(lines, layout, top, height)
        if len(rows) < height and top > (0, 0):
            top = _row_away(lines, layout, *top, len(rows) - height)
            rows = _below(lines, layout, top, height)
        self._top = top
        return rows


def _within(lines: list[str], layout: WrapLayout, top: Place, place: Place, height: int) -> bool:
    if place[0] - top[0] >= height:
        return False
    between = sum(len(layout.rows(lines[line])) for line in range(top[0], place[0]))
    return between - top[1] + place[1] < height


def _below(lines: list[str], layout: WrapLayout, place: Place, height: int) -> list[Place]:
    line, row = place
    places: list[Place] = []
    while len(places) < height and line < len(lines):
        count = len(layout.rows(lines[line]))
        places += [(line, number) for number in range(row, min(count, row + height - len(places)))]
        line, row = line + 1, 0
    return places


def move_rows(document: EditorDocument, layout: WrapLayout, count: int) -> bool:
    """Move the cursor by rows, down if `count` is positive; False at the edge."""
    number, column = document.cursor
    lines = document.buffer.lines
    row = layout.row_of(lines[number], column)
    wanted = document.wanted_cell
    if wanted is None:
        wanted = layout.cell_of(lines[number], row, column)
    target = _row_away(lines, layout, number, row, count)
    if target == (number, row):
        return False
    number, row = target
    document.move(Position(number, layout.column_at(lines[number], row, wanted)))
    document.wanted_cell = wanted
    return True


def _row_away(lines: list[str], layout: WrapLayout, line: int, row: int, count: int) -> Place:
    """Return the row `count` rows away, clamped to the first or last one."""
    row += count
    while row < 0 and line > 0:
        line -= 1
        row += len(layout.rows(lines[line]))
    while row >= (height := len(layout.rows(lines[line]))) and line < len(lines) - 1:
        row -= height
        line += 1
    return line, max(min(row, len(layout.rows(lines[line])) - 1), 0)
