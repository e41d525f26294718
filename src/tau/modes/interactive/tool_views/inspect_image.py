"""inspect_image: a question about an image, and the answer of a vision model."""

from tau.coding.tools.inspect_image import InspectImageDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, markdown_body, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import elapsed, heading, note, one_line, short_path, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(InspectImageDetails, view.details)
    title = heading(theme, "Inspect", short_path(text_arg(view, "path", "file_path", "file"), view.cwd))
    question = text_arg(view, "question", "prompt")
    body: list[Component] = []
    if question:
        body.append(head(theme, question, rows_limit(view, HEAD_ROWS), token="muted"))
    body += problem(view, theme)
    if view.state == "done":
        body += markdown_body(view, theme, view.text)
    facts = "" if details is None else one_line(details.model, 80)
    time = elapsed(view.elapsed_ms) if view.state == "running" else ""
    return RenderedCall(title, body, note(view, theme, facts, time))
