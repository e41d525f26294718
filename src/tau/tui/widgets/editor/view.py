"""Renders the editor: border, visible text with the cursor, completion list."""

from typing import NamedTuple

from tau.base.late import late
from tau.tui.component import CURSOR_MARKER
from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.widgets.autocomplete import Autocomplete, popup_rows
from tau.tui.widgets.editor.document import EditorDocument, Position
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.pastes import Pastes, is_marker
from tau.tui.widgets.editor.units import next_column, previous_column
from tau.tui.widgets.editor.viewport import Place, Viewport

wrapping = late("tau.tui.text.wrap")

_MIN_TEXT_CELLS = 3
_NOWHERE = Position(-1, 0)
_MIN_CELLS_BESIDE_PROMPT = 4
_RULE_CELLS = 48
"""The border's length, unless its texts need more. It does not reach the edge: a terminal that gets narrower
would wrap it and move everything below."""
MARKER_TOKEN = "accent"
PROMPT_TOKEN = "selected"


def border(theme: Theme, token: str, width: int, left: str = "", mark: str = "", right: str = "") -> str:
    """Draw a border of `width` cells with texts; without enough room, the right one is dropped first."""
    line, style = theme.symbols.box[4], theme[token]
    pieces: list[str] = []
    room = width - 1
    if mark and visible_width(mark) + 3 <= room:
        room -= visible_width(mark) + 3
    else:
        mark = ""
    if left and room - 3 >= _MIN_TEXT_CELLS:
        left = truncate(left, room - 3, theme.symbols.ellipsis)
        room -= visible_width(left) + 3
        pieces.append(f"{style(line)} {left} ")
    if right and visible_width(right) + 3 <= room:
        room -= visible_width(right) + 3
    else:
        right = ""
    pieces.append(style(line * (room + 1)))
    if mark:
        pieces.append(f" {theme['muted'](mark)} {style(line)}")
    if right:
        pieces.append(f" {right} {style(line)}")
    return "".join(pieces)


def pick_fitting(pairs: tuple[tuple[str, str], ...], width: int) -> tuple[str, str]:
    """Return the first pair that fits in `width` cells, or the last one."""
    for left, right in pairs[:-1]:
        cells = sum(visible_width(text) + 3 for text in (left, right) if text)
        if cells + 1 <= width:
            return left, right
    return pairs[-1]


def hidden_mark(theme: Theme, lines: int, *, above: bool) -> str:
    """Format how many lines are hidden on one side; "" if none."""
    if not lines:
        return ""
    if theme.linear:
        return f"{lines} more {'line' if lines == 1 else 'lines'} {'above' if above else 'below'}"
    return f"{theme.symbols.scroll_up if above else theme.symbols.scroll_down} {lines}"


class EditorStyle(NamedTuple):
    """What determines the rows besides the text and the popup."""

    width: int = 80
    height: int = 10
    focused: bool = False
    draw_cursor: bool = False
    border_token: str = "border"
    border_texts: tuple[tuple[str, str], ...] = (("", ""),)
    prompt: str = ""
    placeholder: str = ""
    selection: tuple[Position, Position] | None = None


class EditorView:
    """Renders a document. Only visible lines are examined, and only changed ones are laid out again."""

    def __init__(self, theme: Theme, pastes: Pastes) -> None:
        self._theme = theme
        self.layout = WrapLayout(pastes)
        self._viewport = Viewport()
        self._rows: list[str] = []
        self._rows_key: tuple[object, ...] = ()

    def forget(self) -> None:
        """Redraw everything next time."""
        self.layout.forget()
        self._rows_key = ()

    def rows(self, document: EditorDocument, popup: Autocomplete, options: EditorStyle) -> list[str]:
        """Return the rows; the identical list if nothing changed."""
        text = (document, document.buffer.version, document.cursor)
        key = (options, text, popup.version, popup.max_rows, self._theme.linear)
        if key != self._rows_key:
            self._rows = self._draw(document, popup, options)
            self._rows_key = key
        return self._rows

    def _draw(self, document: EditorDocument, popup: Autocomplete, options: EditorStyle) -> list[str]:
        prompt = options.prompt
        prompt_cells = visible_width(prompt)
        if options.width - prompt_cells < _MIN_CELLS_BESIDE_PROMPT:
            prompt, prompt_cells = "", 0
        token = PROMPT_TOKEN if options.border_token == "border" else options.border_token
        prompt = self._theme[token](prompt)
        self.layout.use(options.width - prompt_cells)
        lines, (number, column) = document.buffer.lines, document.cursor
        cursor = (number, self.layout.row_of(lines[number], column))
        places = self._viewport.visible(lines, self.layout, cursor, options.height)
        rows: list[str] = []
        indent = " " * prompt_cells
        for place in places:
            line, row = place
            lead = prompt if place == (0, 0) else indent
            if place == cursor and options.focused:
                rows.append(lead + self._cursor_row(lines[line], place, column, options))
            else:
                start, end = self.layout.rows(lines[line])[row], self.layout.row_end(lines[line], row)
                rows.append(lead + self._text(lines[line], place, start, end, options))
        if document.is_empty and options.placeholder:
            rows[0] += self._placeholder(options.placeholder, options.width - prompt_cells, drawn=options)
        (first, over), (last, under) = places[0], places[-1]
        above = first + (over > 0)
        below = len(lines) - 1 - last + (under + 1 < len(self.layout.rows(lines[last])))
        rows = self._add_frame(rows, options, above, below)
        if popup.list is not None:
            rows += popup_rows(self._theme, popup.list, popup.at, options.width, popup.max_rows)
        return rows

    def _placeholder(self, text: str, cells: int, drawn: EditorStyle) -> str:
        used = 1 if drawn.focused and drawn.draw_cursor else 0
        if cells - used < 1:
            return ""
        return self._theme["placeholder"](truncate(text, cells - used, self._theme.symbols.ellipsis))

    def _add_frame(self, rows: list[str], options: EditorStyle, above: int, below: int) -> list[str]:
        """Add the border, or its replacement, and the counts of hidden lines."""
        theme, width = self._theme, options.width
        over = hidden_mark(theme, above, above=True)
        under = hidden_mark(theme, below, above=False)
        if theme.linear:
            texts = [
                row for text in (*options.border_texts[0], over) if text for row in wrapping.wrap(text, width)
            ]
            return [*texts, *rows, truncate(under, width)] if under else [*texts, *rows]
        left, right = pick_fitting(options.border_texts, width - (visible_width(over) + 3 if over else 0))
        needed = sum(visible_width(text) + 3 for text in (left, over, right) if text) + 3
        top = border(theme, options.border_token, min(width, max(needed, _RULE_CELLS)), left, over, right)
        return [top, *rows, border(theme, options.border_token, min(width, _RULE_CELLS), mark=under)]

    def _text(self, line: str, place: Place, start: int, end: int, options: EditorStyle) -> str:
        """The columns [start, end) of a row, with the selected ones inverse."""
        layout, marker, (number, row) = self.layout, self._theme[MARKER_TOKEN], place
        first, last = options.selection or (_NOWHERE, _NOWHERE)
        low = min(max(first.column, start), end) if first.line == number else start
        high = min(max(last.column, start), end) if last.line == number else end
        if not first.line <= number <= last.line or low >= high:
            low = high = end
        pieces = [
            layout.shown(line, one, other, layout.cell_of(line, row, one), marker) if one < other else ""
            for one, other in ((start, low), (low, high), (high, end))
        ]
        return f"{pieces[0]}{self._theme['cursor'](pieces[1])}{pieces[2]}"

    def _cursor_row(self, line: str, place: Place, column: int, options: EditorStyle) -> str:
        """Render the row with the cursor marker before the unit under the cursor."""
        layout, marker, row = self.layout, self._theme[MARKER_TOKEN], place[1]
        start, end = layout.rows(line)[row], layout.row_end(line, row)
        cell = layout.cell_of(line, row, column)
        if cell >= layout.cells + layout.hangs:  # one-column terminal: there is no cell after the text
            column = max(previous_column(line, column), start)
            cell = layout.cell_of(line, row, column)
        left = self._text(line, place, start, column, options)
        if not options.draw_cursor:
            return left + CURSOR_MARKER + self._text(line, place, column, end, options)
        after = min(next_column(line, column), end) if column < end else end
        under = layout.shown(line, column, after, cell) or " "
        style = self._theme["cursor"]
        if column < end and (line[column] == "\t" or is_marker(line[column])):
            under = style(under[0]) + marker(under[1:])
        else:
            under = style(under)
        return left + CURSOR_MARKER + under + self._text(line, place, after, end, options)
