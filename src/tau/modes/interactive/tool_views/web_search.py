"""web_search: the sources that were found, below the answer."""

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.tools.web_search import WebSearchDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, one_per_row, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import elapsed, heading, note, one_line, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(WebSearchDetails, view.details)
    title = heading(theme, "Search the web", one_line(text_arg(view, "query", "q"), 200))
    body: list[Component] = problem(view, theme)
    if view.state == "done" and details is not None:
        rows = rows_limit(view, HEAD_ROWS)
        if details.answer or details.error is not UNSET:
            body.append(head(theme, details.answer or str(details.error), rows, token="toolOutput"))
        lines = [
            f"{theme['text'](one_line(source.title, 100))}  {theme['muted'](one_line(source.url, 200))}"
            for source in details.sources[:rows]
        ]
        if lines:
            body.append(one_per_row(theme, lines, len(details.sources) - rows, "more source"))
    return RenderedCall(title, body, note(view, theme, _facts(view, details)))


def _facts(view: ToolCallView, details: WebSearchDetails | None) -> str:
    if view.state == "running":
        return elapsed(view.elapsed_ms)
    if details is None or view.state != "done":
        return ""
    if details.error is not UNSET:
        return "failed"
    return f"{quantity(len(details.sources), 'source')} from {one_line(details.provider, 40)}"
