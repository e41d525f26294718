"""Shapes, which are blocks of styled text independent of width, and their layout as rows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap, wrap_hard

_WIDE_ENOUGH = 8
"""A column narrower than this, and than its text, makes the table unreadable."""
_GROWING_TABLE_ROWS = 9
"""The height of a table while its columns may still change: then only its last rows are shown. All of them
may be more than a terminal has room for, and it keeps what it has scrolled away."""
_LEAST_WIDTH = 10
"""A box that would leave less for its text is drawn above it instead."""


class Columns:
    """Column layout from a table's first rows: titles, alignment, and preferred widths.

    With `grows`, more rows follow than those of the sample, and the columns share the free width for them.
    """

    def __init__(
        self,
        titles: Sequence[str],
        aligns: Sequence[str],
        sample: Sequence[Sequence[str]],
        *,
        grows: bool = False,
    ) -> None:
        self.titles = titles
        self.aligns = aligns
        self._grows = grows
        self._wanted = [
            max([visible_width(line) for row in (titles, *sample) for line in row[at].split("\n")])
            for at in range(len(titles))
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
        widths = self.widths(available)
        return widths is None or any(
            width < max(wanted, 1) for width, wanted in zip(widths, self._wanted, strict=True)
        )

    def rule_widths(self, available: int) -> list[int]:
        """Return the widths of a rule: it does not extend into free space on the right."""
        *widths, last = self.widths(available) or [1]
        return [*widths, min(last, max(self._wanted[-1], 1))]

    def _fit(self, available: int) -> list[int] | None:
        wanted = [max(width, 1) for width in self._wanted]
        room = available - 3 * (len(wanted) - 1)
        if sum(wanted) <= room:
            return self._grow(wanted, room - sum(wanted)) if self._grows else wanted
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

    def _grow(self, widths: list[int], spare: int) -> list[int]:
        """Widen each column by up to a half; the last one, which needs no padding, gets the rest."""
        for at, width in enumerate(widths[:-1]):
            more = min(width // 2, spare // len(widths))
            widths[at] += more
            spare -= more
        if self.aligns[-1] not in ("right", "center"):
            widths[-1] += spare
        return widths


def table_rows(
    columns: Columns, rows: Sequence[Sequence[str]], first_row: int, width: int, theme: Theme
) -> list[str]:
    """Render (part of) a table at a width, as records if its columns would be too narrow."""
    if theme.linear:
        return _spoken(columns, rows, first_row, width)
    widths = columns.widths(width)
    if widths is None:
        return _records(columns, rows, first_row, width, theme)
    border, symbols = theme["tableBorder"], theme.symbols.table
    between = f" {border(symbols[10])} "
    out: list[str] = []
    line = symbols[9]
    rule = border(f"{line}{symbols[4]}{line}".join([line * cells for cells in columns.rule_widths(width)]))
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
            _align(rows[at] if at < len(rows) else "", width, align, column == last)
            for column, (rows, width, align) in enumerate(zip(wrapped, widths, aligns, strict=True))
        ]
        out.append(between.join(pieces))
    return out


def _align(text: str, width: int, align: str, is_last: bool) -> str:
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


class TextShape(NamedTuple):
    """A paragraph, a heading, or a piece of a long one."""

    text: str
    gap: bool = False
    """A blank row precedes it; the same for all shapes."""
    join: str | None = None
    """The separator from the previous piece, whose last row continues here."""
    is_cut: bool = False
    """Its last row continues in the next piece."""
    is_unsure: bool = False
    """It may still look different when more text arrives, not only at its end."""


class CodeShape(NamedTuple):
    """Code or HTML: lines that may break anywhere."""

    lines: Sequence[str]
    gap: bool = False
    indent: str = ""
    title: str = ""
    """A row above."""
    end: str = ""
    """A row below."""


class RuleShape(NamedTuple):
    """A horizontal rule."""

    gap: bool = False


class BoxShape(NamedTuple):
    """Blocks with a prefix on each row: a quote or a list item."""

    children: "Sequence[Shape]"
    gap: bool = False
    first: str = ""
    """Prefix of the first row."""
    rest: str = ""
    """Prefix of the other rows; as wide as `first`."""
    title: str = ""


class TableShape(NamedTuple):
    """Some rows of a table, and its shared columns."""

    columns: Columns
    rows: Sequence[Sequence[str]]
    gap: bool = False
    first_row: int = 0
    """How many rows were rendered before; the header precedes the first."""


Shape = TextShape | CodeShape | RuleShape | BoxShape | TableShape


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
        self._last_start = 0
        """Where the last shape begins."""

    def rows(self, shapes: Iterable[Shape]) -> list[str]:
        """Lay out the next shapes."""
        return self._rows(shapes, self._width)

    def preview(self, shapes: Iterable[Shape]) -> list[str]:
        """Lay out shapes that will be laid out again."""
        carried, owed = self.carried, dict(self._owed)
        rows = self._rows(shapes, self._width)
        self.carried, self._owed = carried, owed
        return rows

    def stable_preview(self, shapes: Sequence[Shape]) -> tuple[list[str], int]:
        """Return the preview, and how many of its rows will presumably stay when more text arrives."""
        if not shapes:
            return [], 0
        last = shapes[-1]
        rows = self.preview(shapes)
        if isinstance(last, TableShape) and not last.first_row:
            shown = min(len(last.rows), _GROWING_TABLE_ROWS)
            while shown > 1 and len(rows) - self._last_start > _GROWING_TABLE_ROWS:
                shown -= 1
                rows = self.preview([*shapes[:-1], last._replace(rows=last.rows[-shown:])])
        unstable = _unstable_rows(last, self._width)
        return rows, self._last_start if unstable is None else max(len(rows) - unstable, 0)

    def _rows(self, shapes: Iterable[Shape], width: int) -> list[str]:
        out: list[str] = []
        for shape in shapes:
            if not self._depth:
                self._last_start = len(out)
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


def _unstable_rows(shape: Shape, width: int) -> int | None:
    """Return how many of its last rows may change when its text grows; None means all of them."""
    if isinstance(shape, TextShape):
        return None if shape.is_unsure else 1
    if isinstance(shape, CodeShape) and shape.lines and not shape.end:
        return len(_lines(shape._replace(lines=shape.lines[-1:], title=""), width))
    if isinstance(shape, BoxShape) and shape.children:
        return _unstable_rows(shape.children[-1], width - visible_width(shape.first))
    return None


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
