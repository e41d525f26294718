"""Shell commands and their output, shared by bash and ssh blocks."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from tau.base.late import late
from tau.coding.output import OutputMeta, Truncation
from tau.modes.interactive.tool_views.body_parts import (
    LIVE_ROWS,
    TAIL_ROWS,
    HiddenLines,
    LazyRows,
    first_lines,
    more_row,
    remark,
    rows_limit,
    tail,
)
from tau.modes.interactive.tool_views.failures import failure, refusal, stop_remarks
from tau.modes.interactive.tool_views.labels import MAX_TITLE_CHARS, elapsed
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean, clean_line
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap_hard

highlighting = late("tau.tui.widgets.highlight")

COMMAND_LINES = 5
"""Rows of a multi-line command in a collapsed block."""
MAX_COMMAND_LINES = 200
SIGN_COLUMNS = 2
"""What a block puts before the title."""
MAX_REMARKS = 6
_TAIL_CHARS = 7_000
"""A partial output of this length is most likely the end of a longer one."""
# The starts of lines that tools append to an output.
_REMARKS = ("[Showing ", "[Exit code ", "[Ended by ", "[Stopped: ", "[Could not be stopped", "[No output]")
_IN_BACKGROUND = ("[Running in the background ", "[The user moved this to the background")
_OTHER_REMARKS = (*_IN_BACKGROUND, "[The connection was lost", "[The shell ended", "[Ignored unknown ")
_ENDINGS = ("[Exit code ", "[Ended by ", "[Stopped: ")
"""Shown after the title instead, if the tool's details are known."""


class CommandView(NamedTuple):
    """A command and how it ended, as far as known."""

    command: str
    host: str = ""
    ending: str = ""
    """`exit 1`, `timed out`; empty on success or while running."""
    duration_ms: int | None = None
    aside: str = ""
    """Where it runs, if not in the expected place."""
    in_background: bool = False
    meta: OutputMeta | UnsetType = UNSET
    colored: str = ""
    """The end of the output with its colors, if it has any."""
    is_known: bool = False
    """Whether the tool reported this itself."""


def draw_command(view: ToolCallView, theme: Theme, ran: CommandView) -> RenderedCall:
    return RenderedCall(_title(theme, ran), _body(view, theme, ran), _note(view, theme, ran))


def _title(theme: Theme, ran: CommandView) -> str:
    """The first line of the command, highlighted, after the prompt."""
    first = ran.command.lstrip()[: MAX_TITLE_CHARS * 4].partition("\n")[0][:MAX_TITLE_CHARS]
    shown = _highlight(theme, [clean_line(first)])[0] if first else theme.symbols.ellipsis
    return f"{theme['accent'](_prompt(theme, ran))} {shown}"


def _prompt(theme: Theme, ran: CommandView) -> str:
    if theme.linear:
        return f"Run on {ran.host}:" if ran.host else "Run"
    return f"{ran.host} $" if ran.host else "$"


def _note(view: ToolCallView, theme: Theme, ran: CommandView) -> str:
    """How it ended and how long it took, or how long it has run."""
    parts: list[str] = []
    if view.state == "aborted":
        parts.append(theme["warning"]("stopped"))
    elif ran.ending or view.state == "failed":
        parts.append(theme["error"](ran.ending or "failed"))
    time = elapsed(view.elapsed_ms if ran.duration_ms is None else ran.duration_ms)
    if time and view.state != "pending" and not ran.in_background:
        parts.append(theme["muted"](time))
    if ran.aside:
        parts.append(theme["muted"](ran.aside))
    return ", ".join(parts)


def _body(view: ToolCallView, theme: Theme, ran: CommandView) -> list[Component]:
    """The rest of the command, the end of the output, and remarks."""
    parts = _rest_of_command(view, theme, ran)
    if view.state == "declined":
        return parts + refusal(view, theme)
    if view.state == "aborted":
        return parts + stop_remarks(view, theme)
    text, remarks = _split_remarks(view.text)
    if view.state == "failed" and not (ran.is_known or remarks):
        return parts + failure(view, theme)
    if text.strip():
        shown = with_colors(text, ran.colored) if ran.colored else text
        parts.append(tail(theme, shown, rows_limit(view, TAIL_ROWS), _hidden(view, text, ran)))
    for line in remarks:
        is_ending = line.startswith(_ENDINGS)
        in_title = ran.in_background if line.startswith(_IN_BACKGROUND) else is_ending and bool(ran.ending)
        if not in_title:
            parts.append(remark(theme, line[1:-1], "error" if is_ending else "muted"))
    return parts


def with_colors(text: str, colored: str) -> str:
    """The text, with the last lines replaced by the same lines in color."""
    lines, ends = text.rstrip("\n").split("\n"), colored.rstrip("\n").split("\n")
    same = 0
    for line, end in zip(reversed(lines), reversed(ends), strict=False):
        if strip_escapes(end) != line:
            break
        same += 1
    return "\n".join([*lines[: len(lines) - same], *ends[len(ends) - same :]])


def truncation_of(meta: OutputMeta | UnsetType) -> Truncation | None:
    """What was cut from the output, if anything."""
    if isinstance(meta, UnsetType) or isinstance(meta.truncation, UnsetType):
        return None
    return meta.truncation


def _hidden(view: ToolCallView, text: str, ran: CommandView) -> HiddenLines:
    """The lines missing before the text."""
    truncation = truncation_of(ran.meta)
    if truncation is not None:
        shown = sum(last - first + 1 for first, last in truncation.ranges)
        total = truncation.total_lines
        missing = 0 if isinstance(total, UnsetType) else max(total - shown, 0)
        if truncation.kept == "head":
            return HiddenLines()
        return HiddenLines(missing, inside=truncation.kept == "ends")
    return HiddenLines(at_least=not view.over and len(text) >= _TAIL_CHARS)


def _split_remarks(text: str) -> tuple[str, list[str]]:
    """The output without the lines a tool appended, and those lines."""
    remarks: list[str] = []
    while len(remarks) < MAX_REMARKS:
        body = text.rstrip("\n")
        start = body.rfind("\n") + 1
        line = body[start:]
        if not (line.endswith("]") and line.startswith(_REMARKS + _OTHER_REMARKS)):
            break
        remarks.insert(0, line)
        text = body[:start]
    return text, remarks


def _rest_of_command(view: ToolCallView, theme: Theme, ran: CommandView) -> list[Component]:
    """The part of the command that does not fit the title."""
    command = ran.command.strip()
    most = (MAX_COMMAND_LINES if view.over else LIVE_ROWS) if view.expanded else COMMAND_LINES
    lines, below = first_lines(command, most)
    if not below and len(lines) < 2 and not view.expanded:
        return []

    def paint(width: int) -> list[str]:
        first = visible_width(clean_line(lines[0][:MAX_TITLE_CHARS])) + visible_width(_prompt(theme, ran)) + 1
        is_whole = first + SIGN_COLUMNS <= width and len(lines[0]) <= MAX_TITLE_CHARS
        shown = lines[1:] if is_whole or not view.expanded else lines
        if not shown:
            return []
        styled = _highlight(theme, [line[: 40 * width] for line in shown])
        sign = "" if theme.linear or width < 8 else theme["muted"](">") + " "
        rows = [sign + row for line in styled for row in wrap_hard(line, width - 2 * bool(sign))]
        if below:
            rows.append(more_row(theme, below, "more command line", width))
        return rows

    return [LazyRows(theme, paint)]


def _highlight(theme: Theme, lines: Sequence[str]) -> list[str]:
    if theme.depth == "none" or sum(map(len, lines)) > 10_000:
        return [clean(line).replace("\n", " ") for line in lines]
    colored = highlighting.highlight("\n".join(lines), "bash", theme)
    return colored[: len(lines)]
