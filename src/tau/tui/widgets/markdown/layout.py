"""Lays out shapes as rows of a given width."""

from collections.abc import Iterable, Sequence

from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap, wrap_hard
from tau.tui.widgets.markdown.shapes import BoxShape, CodeShape, RuleShape, Shape, TableShape, TextShape
from tau.tui.widgets.markdown.table import table_rows

_LEAST_WIDTH = 10
"""A box that would leave less for its text is drawn above it instead."""


class ShapeLayout:
    """Lays out shapes in order at one width; a cut paragraph continues where it stopped."""

    def __init__(self, theme: Theme, width: int) -> None:
        self._theme = theme
        self._width = max(width, 1)
        self.carried = ""
        """The last row of a cut paragraph."""
        self._owed: dict[int, str] = {}
        """Prefix of a box's first row, by depth, if that row was carried over."""
        self._depth = 0

    def rows(self, shapes: Iterable[Shape]) -> list[str]:
        """Lay out the next shapes."""
        return self._rows(shapes, self._width)

    def preview(self, shapes: Iterable[Shape]) -> list[str]:
        """Lay out shapes that will be laid out again."""
        carried, owed = self.carried, dict(self._owed)
        rows = self._rows(shapes, self._width)
        self.carried, self._owed = carried, owed
        return rows

    def _rows(self, shapes: Iterable[Shape], width: int) -> list[str]:
        out: list[str] = []
        for shape in shapes:
            if shape.gap:
                out.append("")
            if isinstance(shape, TextShape):
                out += self._text(shape, width)
            elif isinstance(shape, BoxShape):
                out += self._box(shape, width)
            elif isinstance(shape, CodeShape):
                out += _lines(shape, width)
            elif isinstance(shape, TableShape):
                rows = table_rows(shape.columns, shape.rows, shape.first_row, width, self._theme)
                out += [row if visible_width(row) <= width else truncate(row, width, "") for row in rows]
            elif isinstance(shape, RuleShape):
                out.append(_rule(self._theme, width))
        return out

    def _text(self, shape: TextShape, width: int) -> list[str]:
        text = shape.text
        if shape.join is not None:
            text = f"{self.carried}{shape.join}{text}"
            self.carried = ""
        rows = wrap(text, width)
        if shape.is_cut:
            self.carried = rows.pop()
        return rows

    def _box(self, box: BoxShape, width: int) -> list[str]:
        taken = visible_width(box.first)
        title = wrap(box.title, width) if box.title else []
        if taken and width - taken < min(_LEAST_WIDTH, width):
            mark = (
                [truncate(box.first.rstrip(), width, "")]
                if box.first.strip() and box.first != box.rest
                else []
            )
            return title + mark + self._rows(box.children, width)
        self._depth += 1
        rows = self._rows(box.children, width - taken)
        self._depth -= 1
        first = self._owed.pop(self._depth, box.first)
        if not rows and self.carried:
            self._owed[self._depth] = first
            return title
        if not rows:
            return [*title, box.first.rstrip()] if box.first != box.rest or not box.children else title
        rest = box.rest
        blank = rest.rstrip()
        return [
            *title,
            first + rows[0] if rows[0] else first.rstrip(),
            *[rest + row if row else blank for row in rows[1:]],
        ]


def _lines(shape: CodeShape, width: int) -> list[str]:
    indent = shape.indent if width - len(shape.indent) >= min(_LEAST_WIDTH, width) else ""
    room = width - len(indent)
    out: list[str] = wrap(shape.title, width) if shape.title else []
    for line in shape.lines:
        if len(line) <= room and line.isascii():
            out.append(indent + line if line else "")
        elif visible_width(line) <= room:
            out.append(indent + line)
        else:
            out += [indent + row for row in wrap_hard(line, room)]
    if shape.end:
        out += wrap(shape.end, width)
    return out


def _rule(theme: Theme, width: int) -> str:
    if theme.linear:
        return truncate("(section break)", width)
    return theme["rule"](theme.symbols.rule * width)


def indent_rows(rows: Sequence[str], padding: str) -> list[str]:
    """Indent the rows that are not empty."""
    return [padding + row if row else row for row in rows] if padding else list(rows)
