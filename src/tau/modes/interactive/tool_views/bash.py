"""bash: the command after its prompt, the end of its output, how it ended."""

from msgspec import UNSET

from tau.coding.shell.details import BashDetails
from tau.modes.interactive.tool_views.command_body import CommandView, draw_command
from tau.modes.interactive.tool_views.labels import one_line, short_path, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    return draw_command(view, theme, _command(view))


def _command(view: ToolCallView) -> CommandView:
    details = details_as(BashDetails, view.details)
    asked = text_arg(view, "command", "cmd")
    if details is None:
        return CommandView(asked, aside=_where(view, text_arg(view, "cwd", "workdir")))
    aside = _where(view, details.cwd)
    if details.job_id is not UNSET:
        aside = f"in the background as {one_line(details.job_id, 60)}"
    return CommandView(
        asked or details.command,
        ending=_ending(view, details),
        duration_ms=details.duration_ms if details.duration_ms or view.state in ("done", "failed") else None,
        in_background=details.job_id is not UNSET,
        aside=aside,
        meta=details.meta,
        colored="" if details.colored is UNSET else details.colored,
        is_known=True,
    )


def _where(view: ToolCallView, folder: str) -> str:
    shown = short_path(folder, view.cwd) if folder else "."
    return "" if shown == "." else f"in {shown}"


def _ending(view: ToolCallView, details: BashDetails) -> str:
    if not view.over or view.state == "aborted":
        return ""
    if details.timed_out:
        return "timed out"
    if details.signal is not UNSET:
        return f"killed by {one_line(details.signal, 20)}"
    return f"exit {details.exit_code}" if details.exit_code else ""
