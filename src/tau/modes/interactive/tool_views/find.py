"""find: the paths that were found."""

from msgspec import UNSET

from tau.coding.tools.find import FindDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, LazyRows, head, more_row, rows_limit
from tau.modes.interactive.tool_views.endings import unhappy
from tau.modes.interactive.tool_views.labels import (
    counted,
    ending,
    list_arg,
    shown_path,
    shown_paths,
    titled,
)
from tau.modes.interactive.tool_views.search import told
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(FindDetails, view.details)
    title = titled(theme, "Find", shown_paths(list_arg(view, "paths", "path", "pattern"), view.cwd))
    body: list[Component] = unhappy(view, theme)
    if not body and details is not None and details.files:
        body = [_paths(view, theme, details.files)]
        body += told(theme, view.text) if view.over else []
    elif not body and view.over and details is None:
        body = [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="text")]
    return RenderedCall(title, body, ending(view, theme, _facts(view, details)))


def _facts(view: ToolCallView, details: FindDetails | None) -> str:
    if details is None or view.state not in ("done", "running"):
        return ""
    more = details.truncated or details.timed_out is True or details.result_limit_reached is not UNSET
    so_far = " so far" if not view.over else ", there are more" if more else ""
    return f"{counted(details.file_count, 'path')}{so_far}" if details.file_count else "nothing found"


def _paths(view: ToolCallView, theme: Theme, files: list[str]) -> Component:
    limit = rows_limit(view, HEAD_ROWS)

    def paint(width: int) -> list[str]:
        shown = [shown_path(path, view.cwd) for path in files[:limit]]
        rows = [theme["text"](truncate(path, width, theme.symbols.ellipsis)) for path in shown]
        if len(files) > limit:
            rows.append(more_row(theme, len(files) - limit, "more path", width))
        return rows

    return LazyRows(theme, paint)
