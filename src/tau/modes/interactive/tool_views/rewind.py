"""rewind: the report that replaces everything since the checkpoint."""

from tau.coding.tools.rewind import RewindDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, markdown_body, remark, tail
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import note, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(RewindDetails, view.details)
    report = text_arg(view, "report") or ("" if details is None else details.report)
    title = f"{theme['strong']('Rewind')} {theme['muted']('to the checkpoint')}"
    body: list[Component] = problem(view, theme)
    if view.state == "streaming" and report:
        body.append(tail(theme, report, HEAD_ROWS))
    else:
        body += markdown_body(view, theme, report)
    if view.state == "done":
        body.append(remark(theme, "This report replaces everything since the checkpoint."))
    return RenderedCall(title, body, note(view, theme))
