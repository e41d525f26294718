"""What bodies are made of: the end of an output, the beginning of a text, remarks.

All of them clean what they are given when they draw it, and only as much of it as they show.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.modes.interactive.tool_views import fault_log
from tau.modes.interactive.tool_views.labels import counted
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap, wrap_hard

_SQUEEZED_COLUMNS = 10


def squeezed(line: str, width: int) -> str:
    """A line that is a little too long, with fewer blanks or dashes: reports are made for 80 columns."""
    over = len(line) - width
    if not 0 < over <= _SQUEEZED_COLUMNS or not line.isascii():
        return line
    for sign in "=-_*~ ":
        at = line.find(sign * max(over + 3, _SQUEEZED_COLUMNS), len(line) - len(line.lstrip(" ")))
        if at >= 0:
            return line[:at] + line[at + over :]
    return line


def last_lines(text: str, most: int) -> tuple[list[str], int]:
    """The last lines of a text, without the empty ones at its end, and how many are above them."""
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
    """The first lines of a text, and how many are below them; empty ones at its end do not count."""
    at = 0
    for _ in range(most):
        at = text.find("\n", at) + 1
        if not at:
            return text.rstrip("\r\n").split("\n"), 0
    rest = text[at:].rstrip("\r\n")
    return text[: at - 1].split("\n"), rest.count("\n") + 1 if rest else 0


markdown = late("tau.tui.widgets.markdown.component")

MAX_CHARS = 100_000


def prose(view: ToolCallView, theme: Theme, text: str) -> list[Component]:
    """The text, or its beginning; nothing where there is none."""
    if not text.strip():
        return []
    shown = markdown.Markdown(theme, text.strip()[:MAX_CHARS])
    return [BoundedRows(theme, shown, MAX_ROWS if view.expanded else HEAD_ROWS)]


TAIL_ROWS = 20
"""Of an output, while its block is collapsed."""
HEAD_ROWS = 12
"""Of what is written or told, while its block is collapsed."""
LIVE_ROWS = 100
"""Of an expanded output that still grows: it is drawn again and again."""
MAX_ROWS = 2_000
"""Of anything, however far it is expanded."""
MAX_LINE_ROWS = 40
"""Of one line."""

Paint = Callable[[int], list[str]]


class LazyRows(Component):
    """Rows that a function makes for a width, once for each width. What goes wrong in it becomes a row."""

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
            except Exception as error:  # a frame must not end because of what a tool sent
                fault_log.log_once("A part of a tool's block could not be drawn.", error)
                words = "This part could not be drawn; the log says why."
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
    number = f"{count:,}+ {what}s" if at_least else counted(count, what)
    return theme["dim"](truncate(f"{sign}{number}", width, theme.symbols.ellipsis))


def remark(theme: Theme, text: str, token: str = "muted") -> Component:
    """A sentence of ours, or of a tool, in as many rows as it needs."""

    def paint(width: int) -> list[str]:
        rows = wrap(clean(text[: MAX_ROWS * width]), width)[:MAX_ROWS]
        return [theme[token](row) for row in rows]

    return LazyRows(theme, paint)


class HiddenLines(NamedTuple):
    """Lines of an output that are not in its text."""

    lines: int = 0
    inside: bool = False
    """They are missing in its middle, where a row says so: they count only if that row is not shown."""
    at_least: bool = False
    """There may be more than is known of."""


NOTHING_HIDDEN = HiddenLines()


def tail(
    theme: Theme, text: str, max_rows: int, hidden: HiddenLines = NOTHING_HIDDEN, *, token: str = "muted"
) -> Component:
    """The last rows of an output. The cost is that of the rows, not of the text."""

    def paint(width: int) -> list[str]:
        lines, above = last_lines(text, max_rows)
        rows: list[str] = []
        shown = 0
        for line in reversed(lines):
            cut = line[-max_rows * width :]
            made = [
                row for piece in clean(cut).split("\n") for row in wrap_hard(squeezed(piece, width), width)
            ]
            rows[:0] = made[-(max_rows - len(rows)) :]
            shown += 1
            if len(rows) >= max_rows:
                break
        out = [theme[token](row) for row in rows]
        missing = above + len(lines) - shown
        if not hidden.inside:
            missing += hidden.lines
        elif missing and hidden.lines:
            missing += hidden.lines - 1  # the row in the middle that stands for them is no line
        if missing > 0:
            out.insert(0, more_row(theme, missing, "earlier line", width, at_least=hidden.at_least))
        elif hidden.at_least:
            out.insert(
                0, theme["dim"](truncate("Earlier output is not shown.", width, theme.symbols.ellipsis))
            )
        return out

    return LazyRows(theme, paint)


def head(theme: Theme, text: str, max_rows: int, *, token: str = "", first_token: str = "") -> Component:
    """The first rows of a text, wrapped by word; the first line may have a look of its own."""

    def paint(width: int) -> list[str]:
        lines, below = first_lines(text, max_rows)
        rows: list[str] = []
        for number, line in enumerate(lines):
            style = theme[first_token if number == 0 and first_token else token]
            made = wrap(clean(line[: MAX_LINE_ROWS * width]), width)
            if len(rows) + len(made) > max_rows and rows:
                below += len(lines) - number
                break
            rows += [style(row) for row in made[:max_rows]]
        if below > 0:
            rows.append(more_row(theme, below, "more line", width))
        return rows

    return LazyRows(theme, paint)


class IndentedRows(Component):
    """Another component, some columns to the right; not for a screen reader, nor where it is narrow."""

    def __init__(self, theme: Theme, child: Component, columns: int = 2) -> None:
        self._theme = theme
        self._child = child
        self._columns = columns
        self._inside: Sequence[str] = ()
        self._rows: Sequence[str] = ()
        self._width = -1

    def render(self, width: int) -> Sequence[str]:
        columns = 0 if self._theme.linear or width < 20 else self._columns
        inside = self._child.render(width - columns)
        if inside is not self._inside or width != self._width:
            self._inside, self._width = inside, width
            self._rows = [" " * columns + row if row else row for row in inside]
        return self._rows

    def invalidate(self) -> None:
        self._width = -1
        self._child.invalidate()


class BoundedRows(Component):
    """The first rows of another component, and how many more it has."""

    def __init__(self, theme: Theme, child: Component, max_rows: int) -> None:
        self._theme = theme
        self._child = child
        self._max_rows = max_rows
        self._inside: Sequence[str] = ()
        self._rows: Sequence[str] = ()
        self._width = -1

    def render(self, width: int) -> Sequence[str]:
        inside = self._child.render(width)
        if inside is not self._inside or width != self._width:
            self._inside, self._width = inside, width
            more = len(inside) - self._max_rows
            self._rows = inside
            if more > 0:
                kept = inside[: self._max_rows]
                self._rows = [*kept, more_row(self._theme, more, "more row", max(width, 1))]
        return self._rows

    def invalidate(self) -> None:
        self._width = -1
        self._child.invalidate()
