"""search: match counts and the matching lines, highlighted."""

from functools import partial

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.tools.search import SearchDetails
from tau.modes.interactive.tool_views import match_tree
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, TAIL_ROWS, head, remark, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import flag_arg, heading, in_paths, note, one_line, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    pattern = text_arg(view, "pattern", "regex")
    title = heading(theme, "Search", f"/{one_line(pattern)}/" if pattern else "")
    title += in_paths(view, theme)
    details = details_as(SearchDetails, view.details)
    body: list[Component] = problem(view, theme)
    if not body and view.over:
        body = _matches(view, theme, details, pattern)
    return RenderedCall(title, body, note(view, theme, _facts(details) if view.state == "done" else ""))


def _facts(details: SearchDetails | None) -> str:
    if details is None:
        return ""
    if not details.match_count:
        return "no matches"
    return match_counts(
        details.match_count, details.file_count, more=details.truncated is True or details.timed_out is True
    )


def match_counts(matched: int, files: int, *, more: bool) -> str:
    """`12 matches in 3 files`."""
    plus = ", there are more" if more else ""
    return f"{quantity(matched, 'match', 'matches')} in {quantity(files, 'file')}{plus}"


def _matches(
    view: ToolCallView, theme: Theme, details: SearchDetails | None, pattern: str
) -> list[Component]:
    if details is None:
        return [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="toolOutput")]
    parts: list[Component] = []
    if details.display_content is not UNSET:
        ignore_case = flag_arg(view, "i", "ignore_case")
        mark = partial(match_tree.spans, pattern.strip(), ignore_case=ignore_case)
        parts.append(match_tree.tree(view, theme, match_tree.parse_matches(details.display_content), mark))
    return parts + remarks_below(theme, view.text)


def remarks_below(theme: Theme, text: str) -> list[Component]:
    """The tool's remarks below its matches, a line each."""
    lines = text.rstrip("\n").rsplit("\n", TAIL_ROWS)[-TAIL_ROWS:]
    notes: list[str] = []
    for line in reversed(lines):
        if not (line.startswith("[") and line.endswith("]")):
            break
        notes.insert(0, line[1:-1])
    return [remark(theme, note, "dim") for note in notes]
