"""The visible rows: they follow the cursor, moving as little as possible."""

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
            top = _above(lines, layout, cursor, height - 1)
        rows = _below(lines, layout, top, height)
        if len(rows) < height and top > (0, 0):
            top = _above(lines, layout, top, height - len(rows))
            rows = _below(lines, layout, top, height)
        self._top = top
        return rows


def _within(lines: list[str], layout: WrapLayout, top: Place, place: Place, height: int) -> bool:
    if place[0] - top[0] >= height:
        return False
    between = sum(len(layout.rows(lines[line])) for line in range(top[0], place[0]))
    return between - top[1] + place[1] < height


def _above(lines: list[str], layout: WrapLayout, place: Place, count: int) -> Place:
    """Return the place `count` rows higher, or the first one."""
    line, row = place
    row -= count
    while row < 0 and line > 0:
        line -= 1
        row += len(layout.rows(lines[line]))
    return line, max(row, 0)


def _below(lines: list[str], layout: WrapLayout, place: Place, height: int) -> list[Place]:
    line, row = place
    found: list[Place] = []
    while len(found) < height and line < len(lines):
        count = len(layout.rows(lines[line]))
        found += [(line, number) for number in range(row, min(count, row + height - len(found)))]
        line, row = line + 1, 0
    return found
