"""search: match counts and the matching lines, highlighted."""

from functools import partial

from msgspec import UNSET

from tau.coding.tools.search import SearchDetails
from tau.modes.interactive.tool_views import match_highlight, match_tree
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, TAIL_ROWS, head, remark, rows_limit
from tau.modes.interactive.tool_views.endings import unhappy
from tau.modes.interactive.tool_views.labels import (
    counted,
    ending,
    flag_arg,
    in_paths,
    one_line,
    text_arg,
    titled,
)
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    pattern = text_arg(view, "pattern", "regex")
    title = titled(theme, "Search", f"/{one_line(pattern)}/" if pattern else "")
    title += in_paths(view, theme)
    details = details_as(SearchDetails, view.details)
    body: list[Component] = unhappy(view, theme)
    if not body and view.over:
        body = _found(view, theme, details, pattern)
    return RenderedCall(title, body, ending(view, theme, _facts(details) if view.state == "done" else ""))


def _facts(details: SearchDetails | None) -> str:
    if details is None:
        return ""
    if not details.match_count:
        return "no matches"
    return found_words(
        details.match_count, details.file_count, more=details.truncated is True or details.timed_out is True
    )


def found_words(matched: int, files: int, *, more: bool) -> str:
    """`12 matches in 3 files`."""
    plus = ", there are more" if more else ""
    return f"{counted(matched, 'match', 'matches')} in {counted(files, 'file')}{plus}"


def _found(view: ToolCallView, theme: Theme, details: SearchDetails | None, pattern: str) -> list[Component]:
    if details is None:
        return [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="text")]
    parts: list[Component] = []
    if details.display_content is not UNSET:
        mark = partial(_spans, pattern.strip(), flag_arg(view, "i", "ignore_case"))
        parts.append(match_tree.tree(view, theme, match_tree.parsed(details.display_content), mark))
    return parts + told(theme, view.text)


def _spans(pattern: str, ignore_case: bool, line: str) -> match_highlight.Spans:
    return match_highlight.spans(pattern, line, ignore_case=ignore_case)


def told(theme: Theme, text: str) -> list[Component]:
    """The tool's remarks below its matches, a line each."""
    lines = text.rstrip("\n").rsplit("\n", TAIL_ROWS)[-TAIL_ROWS:]
    notes: list[str] = []
    for line in reversed(lines):
        if not (line.startswith("[") and line.endswith("]")):
            break
        notes.insert(0, line[1:-1])
    return [remark(theme, note, "dim") for note in notes]
