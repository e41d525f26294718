"""write: a new file highlighted, a replaced one as a diff; while streaming, its last lines."""

from msgspec import UNSET

from tau.base.sizes import format_bytes
from tau.base.text import quantity
from tau.coding.tools.write import WriteDetails
from tau.modes.interactive.tool_views import diff_body
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, TAIL_ROWS, head, remark, rows_limit
from tau.modes.interactive.tool_views.code_body import code, first_code, last_code
from tau.modes.interactive.tool_views.diagnostics_body import diagnostics
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import changes, heading, note, short_path, text_arg
from tau.modes.interactive.tool_views.languages import language_of
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(WriteDetails, view.details)
    path = text_arg(view, "path", "file_path", "file", "filename")
    title = heading(theme, "Write", short_path(path, view.cwd))
    content = text_arg(view, "content")
    if view.state == "done":
        return _done(view, theme, title, content, details)
    failed = problem(view, theme)
    if failed:
        body = [code(theme, first_code(content, language_of(path), rows_limit(view, HEAD_ROWS)))]
        return RenderedCall(title, [*failed, *(body if view.expanded and content else [])], note(view, theme))
    lines = content.count("\n") + (not content.endswith("\n")) if content else 0
    so_far = " so far" if view.state == "streaming" else ""
    facts = f"{quantity(lines, 'line')}{so_far}" if lines else ""
    # While it runs, a question may show the content, and the result will: once is enough.
    shown = content and view.state != "running"
    return RenderedCall(
        title, _content(view, theme, content, path) if shown else [], note(view, theme, facts)
    )


def _done(
    view: ToolCallView, theme: Theme, title: str, content: str, details: WriteDetails | None
) -> RenderedCall:
    path = text_arg(view, "path", "file_path", "file", "filename")
    limit = rows_limit(view, HEAD_ROWS)
    shown = code(theme, first_code(content, language_of(path), limit), limit, wrapped=view.expanded)
    if details is None:
        result = head(theme, view.text, rows_limit(view, HEAD_ROWS), token="muted")
        return RenderedCall(title, [result, *([shown] if content and view.expanded else [])])
    size = f"{quantity(details.lines, 'line')}, {format_bytes(max(details.bytes, 0))}"
    facts = ["new file" if details.created else "", size, "executable" if details.made_executable else ""]
    body: list[Component] = []
    if details.diff is not UNSET:
        added = 0 if details.added is UNSET else details.added
        removed = 0 if details.removed is UNSET else details.removed
        title = f"{title} {changes(theme, added, removed)}"
        if details.diff.strip():
            body.append(diff_body.diff(theme, [details.diff], rows_limit(view, TAIL_ROWS), named=False))
        else:
            body.append(remark(theme, "The file already had this content."))
    elif content:
        body.append(shown)
    body += diagnostics(view, theme, details.diagnostics)
    return RenderedCall(title, body, note(view, theme, *facts))


def _content(view: ToolCallView, theme: Theme, content: str, path: str) -> list[Component]:
    """The last lines; once complete, the first ones."""
    language = language_of(path)
    if view.state != "streaming":
        limit = rows_limit(view, HEAD_ROWS)
        return [code(theme, first_code(content, language, limit), limit, wrapped=view.expanded)]
    return [code(theme, last_code(content, language, HEAD_ROWS), wrapped=False)]
