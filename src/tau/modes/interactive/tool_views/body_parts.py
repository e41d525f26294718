"""Building blocks of tool bodies: the end of an output, the start of a text, remarks.

Each sanitizes its text when drawn, and only as much as it shows.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.base.text import quantity
from tau.modes.interactive.tool_views import fault_log
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean, clean_styled
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap, wrap_hard

_SQUEEZED_COLUMNS = 10


def squeeze(line: str, width: int) -> str:
    """Shrink runs of spaces or dashes in a slightly overlong line: reports are made for 80 columns."""
    over = len(line) - width
    if not 0 < over <= _SQUEEZED_COLUMNS or not line.isascii():
        return line
    for sign in "=-_*~ ":
        at = line.find(sign * max(over + 3, _SQUEEZED_COLUMNS), len(line) - len(line.lstrip(" ")))
        if at >= 0:
            return line[:at] + line[at + over :]
    return line


def last_lines(text: str, most: int) -> tuple[list[str], int]:
    """The last lines of a text without trailing empty ones, and how many precede them."""
    end = len(text)
    while end and text[end - 1] in "\r\n":
        end -= 1
    if not end:
        return [], 0
    start = end
    for _ in range(most):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return text[:end].split("\n"), 0
    return text[start + 1 : end].split("\n"), text.count("\n", 0, start + 1)


def first_lines(text: str, most: int) -> tuple[list[str], int]:
    """The first lines of a text and how many follow, ignoring trailing empty ones."""
    at = 0
    for _ in range(most):
        at = text.find("\n", at) + 1
        if not at:
            return text.rstrip("\r\n").split("\n"), 0
    rest = text[at:].rstrip("\r\n")
    return text[: at - 1].split("\n"), rest.count("\n") + 1 if rest else 0


markdown = late("tau.tui.widgets.markdown.component")

MAX_CHARS = 100_000


def markdown_body(view: ToolCallView, theme: Theme, text: str) -> list[Component]:
    """The text, or its beginning; nothing if empty."""
    if not text.strip():
        return []
    shown = markdown.Markdown(theme, text.strip()[:MAX_CHARS])
    return [BoundedRows(theme, shown, MAX_ROWS if view.expanded else HEAD_ROWS)]


TAIL_ROWS = 20
"""Output rows in a collapsed block."""
HEAD_ROWS = 12
"""Rows of written or reported text in a collapsed block."""
LIVE_ROWS = 100
"""Rows of an expanded output that still grows, since it is redrawn often."""
MAX_ROWS = 2_000
"""Rows of any part, even if expanded."""
MAX_LINE_ROWS = 40
"""Rows of one line."""

Paint = Callable[[int], list[str]]


class LazyRows(Component):
    """Rows computed once per width. An exception becomes a row."""

    def __init__(self, theme: Theme, paint: Paint) -> None:
        self._theme = theme
        self._paint = paint
        self._width = -1
        self._rows: list[str] = []

    def render(self, width: int) -> Sequence[str]:
        if width != self._width:
            self._width = width
            try:
                self._rows = self._paint(max(width, 1))
            except Exception as error:  # tool output must never break a frame
                fault_log.log_once("Could not draw part of a tool block.", error)
                words = "Could not draw this part; see the log."
                self._rows = [self._theme["error"](row) for row in wrap(words, max(width, 1))]
        return self._rows

    def invalidate(self) -> None:
        self._width = -1


def rows_limit(view: ToolCallView, collapsed: int) -> int:
    """How many rows a part of this block may have."""
    if not view.expanded:
        return collapsed
    return MAX_ROWS if view.over else LIVE_ROWS


def more_row(theme: Theme, count: int, what: str, width: int, *, at_least: bool = False) -> str:
    """The row that says what is not shown."""
    sign = "" if theme.linear else f"{theme.symbols.ellipsis} "
    number = f"{count:,}+ {what}s" if at_least else quantity(count, what)
    return theme["dim"](truncate(f"{sign}{number}", width, theme.symbols.ellipsis))


def one_per_row(theme: Theme, lines: Sequence[str], more: int, what: str) -> Component:
    """Styled lines, each cut to one row, and how many more there are."""

    def paint(width: int) -> list[str]:
        rows = [truncate(line, width, theme.symbols.ellipsis) for line in lines]
        return [*rows, more_row(theme, more, what, width)] if more > 0 else rows

    return LazyRows(theme, paint)


def remark(theme: Theme, text: str, token: str = "muted") -> Component:
    """A remark by tau or a tool, wrapped."""

    def paint(width: int) -> list[str]:
        rows = wrap(clean(text[: MAX_ROWS * width]), width)[:MAX_ROWS]
        return [theme[token](row) for row in rows]

    return LazyRows(theme, paint)


def _wrap_plain(line: str, width: int, max_rows: int) -> list[str]:
    """The rows of one line; only what may be shown of it is examined."""
    pieces = clean(line[-max_rows * width :]).split("\n")
    return [row for piece in pieces for row in wrap_hard(squeeze(piece, width), width)]


class HiddenLines(NamedTuple):
    """Output lines missing from the text."""

    lines: int = 0
    inside: bool = False
    """Missing in the middle, where a row says so; counted only if that row is hidden."""
    at_least: bool = False
    """There may be more than known."""


NOTHING_HIDDEN = HiddenLines()


def tail(
    theme: Theme, text: str, max_rows: int, hidden: HiddenLines = NOTHING_HIDDEN, *, token: str = "toolOutput"
) -> Component:
    """The last rows of an output, in its colors. The cost depends on the rows, not on the text."""

    def paint(width: int) -> list[str]:
        lines, above = last_lines(text, max_rows)
        colored = theme.depth != "none" and any("\x1b" in line for line in lines)
        if colored:
            lines = clean_styled("\n".join(lines)).split("\n")
        rows: list[str] = []
        shown = 0
        for line in reversed(lines):
            wrapped = wrap_hard(line, width) if colored else _wrap_plain(line, width, max_rows)
            rows[:0] = wrapped[-(max_rows - len(rows)) :]
            shown += 1
            if len(rows) >= max_rows:
                break
        out = [theme[token](row) for row in rows]
        missing = above + len(lines) - shown
        if not hidden.inside:
            missing += hidden.lines
        elif missing and hidden.lines:
            missing += hidden.lines - 1  # the row for the omitted middle is not a line
        if missing > 0:
            out.insert(0, more_row(theme, missing, "earlier line", width, at_least=hidden.at_least))
        elif hidden.at_least:
            out.insert(0, theme["dim"](truncate("Earlier output not shown.", width, theme.symbols.ellipsis)))
        return out

    return LazyRows(theme, paint)


def head(theme: Theme, text: str, max_rows: int, *, token: str = "", first_token: str = "") -> Component:
    """The first rows of a text, word-wrapped; the first line may have a separate style."""

    def paint(width: int) -> list[str]:
        lines, below = first_lines(text, max_rows)
        rows: list[str] = []
        for number, line in enumerate(lines):
            style = theme[first_token if number == 0 and first_token else token]
            wrapped = wrap(clean(line[: MAX_LINE_ROWS * width]), width)
            if len(rows) + len(wrapped) > max_rows and rows:
                below += len(lines) - number
                break
            rows += [style(row) for row in wrapped[:max_rows]]
        if below > 0:
            rows.append(more_row(theme, below, "more line", width))
        return rows

    return LazyRows(theme, paint)


class IndentedRows(Component):
    """Indents a component, except on narrow screens or for a screen reader."""

    def __init__(self, theme: Theme, child: Component, columns: int = 2) -> None:
        self._theme = theme
        self._child = child
        self._columns = columns
        self._inside: Sequence[str] = ()
        self._rows: Sequence[str] = ()
        self._width = -1

    def render(self, width: int) -> Sequence[str]:
        inside = self._child.render(width - self._indent(width))
        if inside is not self._inside or width != self._width:
            self._inside, self._width = inside, width
            self._rows = self._change(inside, width)
        return self._rows

    def invalidate(self) -> None:
        self._width = -1
        self._child.invalidate()

    def _indent(self, width: int) -> int:
        return 0 if self._theme.linear or width < 20 else self._columns

    def _change(self, inside: Sequence[str], width: int) -> Sequence[str]:
        return [" " * self._indent(width) + row if row else row for row in inside]


class BoundedRows(IndentedRows):
    """The first rows of a component, and how many more it has."""

    def __init__(self, theme: Theme, child: Component, max_rows: int) -> None:
        super().__init__(theme, child, columns=0)
        self._max_rows = max_rows

    def _change(self, inside: Sequence[str], width: int) -> Sequence[str]:
        more = len(inside) - self._max_rows
        if more <= 0:
            return inside
        return [*inside[: self._max_rows], more_row(self._theme, more, "more row", max(width, 1))]
