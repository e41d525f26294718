"""Text for calls that failed, were stopped or were declined."""

from tau.agent.call_runner import NOT_STARTED, SKIPPED, STOPPED, UNFINISHED
from tau.coding.approval.refusals import refused_call, tell_user
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, remark, rows_limit, tail
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme

_MAY_HAVE = "Stopped; it may have partly run."
INTERRUPTED = {
    STOPPED: _MAY_HAVE,
    UNFINISHED: "Stopped before it finished.",
    NOT_STARTED: "Stopped before it started.",
    SKIPPED: "Not run: your new message comes first.",
}
"""Maps what the model sees for incomplete calls to what users see."""


def failure(view: ToolCallView, theme: Theme) -> list[Component]:
    """The tool's error message, with its first line emphasized."""
    text = view.text.strip() or "Failed without a message."
    if text in INTERRUPTED:
        return [remark(theme, INTERRUPTED[text], "warning")]
    return [head(theme, text, rows_limit(view, HEAD_ROWS), token="muted", first_token="error")]


def stop_remarks(view: ToolCallView, theme: Theme) -> list[Component]:
    """The output of a stopped call so far, and that it was stopped."""
    text = view.text.strip()
    limit = rows_limit(view, HEAD_ROWS)
    if text in INTERRUPTED:
        return [remark(theme, INTERRUPTED[text], "warning")]
    if text:
        return [tail(theme, text, limit, token="toolOutput"), remark(theme, "Stopped here.", "warning")]
    began = view.elapsed_ms is not None or bool(view.content)
    return [remark(theme, _MAY_HAVE if began else INTERRUPTED[NOT_STARTED], "warning")]


def refusal(view: ToolCallView, theme: Theme) -> list[Component]:
    """Why the call was not allowed to run."""
    refused = refused_call(view.details)
    return [remark(theme, "You declined." if refused is None else tell_user(refused), "warning")]


def problem(view: ToolCallView, theme: Theme) -> list[Component]:
    """A sentence about a call that did not succeed; nothing for others."""
    if view.state == "declined":
        return refusal(view, theme)
    if view.state == "failed":
        return failure(view, theme)
    return stop_remarks(view, theme) if view.state == "aborted" else []
