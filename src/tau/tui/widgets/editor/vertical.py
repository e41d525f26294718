"""Vertical cursor movement over wrapped rows, keeping the preferred cell."""

from tau.tui.widgets.editor.buffer import Position
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.layout import WrapLayout


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


def _row_away(lines: list[str], layout: WrapLayout, line: int, row: int, count: int) -> tuple[int, int]:
    """Return the row `count` rows away, clamped to the first or last one."""
    row += count
    while row < 0 and line > 0:
        line -= 1
        row += len(layout.rows(lines[line]))
    while row >= (height := len(layout.rows(lines[line]))) and line < len(lines) - 1:
        row -= height
        line += 1
    return line, max(min(row, len(layout.rows(lines[line])) - 1), 0)
