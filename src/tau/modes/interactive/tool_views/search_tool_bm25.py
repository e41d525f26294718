"""search_tool_bm25: the tools that were found and activated."""

from msgspec import UNSET

from tau.base.text import clean_line, quantity, shortened
from tau.coding.tool_search.search_tool import FoundTool, SearchToolDetails
from tau.modes.interactive.tool_views.body_parts import head, one_per_row
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import heading, note, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

COLLAPSED_ROWS = 5
LABEL_CHARS, DESCRIPTION_CHARS = 72, 96


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(SearchToolDetails, view.details)
    title = heading(theme, "Search tools", clean_line(text_arg(view, "query")))
    body: list[Component] = problem(view, theme)
    if not body and details is not None and details.tools:
        shown = details.tools if view.expanded else details.tools[:COLLAPSED_ROWS]
        lines = [_line(theme, found) for found in shown]
        body = [one_per_row(theme, lines, len(details.tools) - len(shown), "more tool")]
    elif not body and view.over and details is not None:
        text = (
            "No matching tools found."
            if details.total_tools
            else "No discoverable tools are currently loaded."
        )
        body = [head(theme, text, 1, token="toolOutput")]
    facts = "" if details is None else f"{quantity(len(details.activated_tools), 'tool')} activated"
    return RenderedCall(title, body, note(view, theme, facts))


def _line(theme: Theme, found: FoundTool) -> str:
    label = shortened(clean_line(found.label), LABEL_CHARS)
    server = "" if found.server_name is UNSET else f" mcp:{clean_line(found.server_name)}"
    about = shortened(clean_line(found.description), DESCRIPTION_CHARS)
    return f"{theme['text'](label)}{theme['muted'](f'{server} {found.score:.3f}  {about}')}"
