"""ast_grep: structural code matches, shown like search results."""

from msgspec import UNSET

from tau.coding.tools.ast_grep import AstGrepDetails
from tau.modes.interactive.tool_views import match_tree
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, rows_limit
from tau.modes.interactive.tool_views.endings import unhappy
from tau.modes.interactive.tool_views.labels import ending, in_paths, one_line, text_arg, titled
from tau.modes.interactive.tool_views.search import found_words, told
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    title = titled(theme, "Search code", one_line(text_arg(view, "pat", "pattern")))
    title += in_paths(view, theme)
    details = details_as(AstGrepDetails, view.details)
    body: list[Component] = unhappy(view, theme)
    if not body and view.over:
        body = _found(view, theme, details)
    return RenderedCall(title, body, ending(view, theme, _facts(details) if view.state == "done" else ""))


def _facts(details: AstGrepDetails | None) -> str:
    if details is None:
        return ""
    if not details.match_count:
        return "no matches"
    more = details.file_limit_reached is not UNSET or details.timed_out is True
    return found_words(details.match_count, details.file_count, more=more)


def _found(view: ToolCallView, theme: Theme, details: AstGrepDetails | None) -> list[Component]:
    if details is None:
        return [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="text")]
    parts: list[Component] = []
    if details.display_content is not UNSET:
        parts.append(
            match_tree.tree(view, theme, match_tree.parsed(details.display_content), lambda line: [])
        )
    return parts + told(theme, view.text)
