"""What is said of calls that failed, were stopped or were not allowed."""

from tau.agent.calls import NOT_STARTED, SKIPPED, STOPPED, UNFINISHED
from tau.coding.approval.hook import declined
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, remark, rows_limit, tail
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme

_MAY_HAVE = "Stopped; it may have done part of its work."
INTERRUPTED = {
    STOPPED: _MAY_HAVE,
    UNFINISHED: "Stopped before it ended.",
    NOT_STARTED: "Stopped before it began.",
    SKIPPED: "Not run: your new message comes first.",
}
"""What the model is told of calls that did not run to their end, and what people are told."""


def failure(view: ToolCallView, theme: Theme) -> list[Component]:
    """What went wrong in the tool's words; its first line stands out."""
    text = view.text.strip() or "It failed without a word."
    if text in INTERRUPTED:
        return [remark(theme, INTERRUPTED[text], "warning")]
    return [head(theme, text, rows_limit(view, HEAD_ROWS), token="muted", first_token="error")]


def stopped(view: ToolCallView, theme: Theme) -> list[Component]:
    """What is known of a call that a person ended: what it said so far, and that it was stopped."""
    text = view.text.strip()
    limit = rows_limit(view, HEAD_ROWS)
    if text in INTERRUPTED:
        return [remark(theme, INTERRUPTED[text], "warning")]
    if text:
        return [tail(theme, text, limit, token="text"), remark(theme, "Stopped here.", "warning")]
    began = view.elapsed_ms is not None or bool(view.content)
    return [remark(theme, _MAY_HAVE if began else INTERRUPTED[NOT_STARTED], "warning")]


def not_allowed(view: ToolCallView, theme: Theme) -> list[Component]:
    """What the person said when they were asked about it."""
    return [remark(theme, declined(view.text) or "You declined.", "warning")]


def unhappy(view: ToolCallView, theme: Theme) -> list[Component]:
    """The sentence about a call that did not end well; nothing for one that did, or that goes on."""
    if view.state == "declined":
        return not_allowed(view, theme)
    if view.state == "failed":
        return failure(view, theme)
    return stopped(view, theme) if view.state == "aborted" else []
