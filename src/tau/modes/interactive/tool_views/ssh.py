"""ssh: a command on another host, shown like a local one."""

from msgspec import UNSET

from tau.coding.tools.ssh import SshDetails
from tau.modes.interactive.tool_views.command_body import CommandView, draw_command
from tau.modes.interactive.tool_views.labels import one_line, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    return draw_command(view, theme, _command(view))


def _command(view: ToolCallView) -> CommandView:
    details = details_as(SshDetails, view.details)
    asked = text_arg(view, "command", "cmd")
    host = one_line(text_arg(view, "host"), 60)
    folder = one_line(text_arg(view, "cwd", "workdir"))
    aside = f"in {folder}" if folder else ""
    if details is None:
        return CommandView(asked, host, aside=aside)
    return CommandView(
        asked or details.command,
        one_line(details.host, 60),
        ending=_ending(view, details),
        duration_ms=details.duration_ms if details.duration_ms or view.state in ("done", "failed") else None,
        aside=aside or ("" if details.cwd is UNSET else f"in {one_line(details.cwd)}"),
        meta=details.meta,
        is_known=True,
    )


def _ending(view: ToolCallView, details: SshDetails) -> str:
    if not view.over or view.state == "aborted":
        return ""
    if details.lost:
        return "connection lost"
    if details.timed_out:
        return "timed out"
    return f"exit {details.exit_code}" if details.exit_code else ""
