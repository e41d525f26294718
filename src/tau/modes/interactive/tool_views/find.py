"""find: the paths that were found."""

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.tools.find import FindDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, one_per_row, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import heading, list_arg, note, short_path, short_paths
from tau.modes.interactive.tool_views.search import remarks_below
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(FindDetails, view.details)
    title = heading(theme, "Find", short_paths(list_arg(view, "paths", "path", "pattern"), view.cwd))
    body: list[Component] = problem(view, theme)
    if not body and details is not None and details.files:
        body = [_paths(view, theme, details.files)]
        body += remarks_below(theme, view.text) if view.over else []
    elif not body and view.over and details is None:
        body = [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="toolOutput")]
    return RenderedCall(title, body, note(view, theme, _facts(view, details)))


def _facts(view: ToolCallView, details: FindDetails | None) -> str:
    if details is None or view.state not in ("done", "running"):
        return ""
    more = details.truncated or details.timed_out is True or details.result_limit_reached is not UNSET
    so_far = " so far" if not view.over else ", there are more" if more else ""
    return f"{quantity(details.file_count, 'path')}{so_far}" if details.file_count else "nothing found"


def _paths(view: ToolCallView, theme: Theme, files: list[str]) -> Component:
    limit = rows_limit(view, HEAD_ROWS)
    lines = [theme["text"](short_path(path, view.cwd)) for path in files[:limit]]
    return one_per_row(theme, lines, len(files) - limit, "more path")
