"""ast_grep: structural code matches, shown like search results."""

from msgspec import UNSET

from tau.coding.tools.ast_grep import AstGrepDetails
from tau.modes.interactive.tool_views import match_tree
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import heading, in_paths, note, one_line, text_arg
from tau.modes.interactive.tool_views.search import match_counts, remarks_below
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    title = heading(theme, "Search code", one_line(text_arg(view, "pat", "pattern")))
    title += in_paths(view, theme)
    details = details_as(AstGrepDetails, view.details)
    body: list[Component] = problem(view, theme)
    if not body and view.over:
        body = _matches(view, theme, details)
    return RenderedCall(title, body, note(view, theme, _facts(details) if view.state == "done" else ""))


def _facts(details: AstGrepDetails | None) -> str:
    if details is None:
        return ""
    if not details.match_count:
        return "no matches"
    more = details.file_limit_reached is not UNSET or details.timed_out is True
    return match_counts(details.match_count, details.file_count, more=more)


def _matches(view: ToolCallView, theme: Theme, details: AstGrepDetails | None) -> list[Component]:
    if details is None:
        return [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="toolOutput")]
    parts: list[Component] = []
    if details.display_content is not UNSET:
        parts.append(
            match_tree.tree(view, theme, match_tree.parse_matches(details.display_content), lambda line: [])
        )
    return parts + remarks_below(theme, view.text)
