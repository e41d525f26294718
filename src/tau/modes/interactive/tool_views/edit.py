"""edit: the changed files with a diff; while streaming, the call so far."""

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.edits.report import EditDetails
from tau.modes.interactive.tool_views import diff_body
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, TAIL_ROWS, remark, rows_limit
from tau.modes.interactive.tool_views.diagnostics_body import diagnostics
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import changes, heading, note, short_path, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

_VERBS = {"create": "Create", "update": "Edit", "delete": "Delete", "move": "Move"}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(EditDetails, view.details)
    if view.state == "done" and details is not None:
        return _done(view, theme, details)
    facts = _progress(view)
    failed = problem(view, theme)
    shown = _planned_change(view, theme) if not failed or view.expanded or view.state == "aborted" else []
    return RenderedCall(heading(theme, "Edit", _name(view)), [*failed, *shown], note(view, theme, facts))


def _done(view: ToolCallView, theme: Theme, details: EditDetails) -> RenderedCall:
    files = 1 if details.per_file_results is UNSET else len(details.per_file_results)
    name = short_path(details.path, view.cwd) if files == 1 else quantity(files, "file")
    verb = _VERBS[details.op] if files == 1 else "Edit"
    title = f"{heading(theme, verb, name)} {changes(theme, details.added, details.removed)}"
    body: list[Component] = []
    texts = [details.diff]
    if details.per_file_results is not UNSET:
        texts = [file.diff for file in details.per_file_results]
    if any(text.strip() for text in texts):
        body.append(diff_body.diff(theme, texts, rows_limit(view, TAIL_ROWS), named=files > 1))
    body += [remark(theme, warning, "warning") for warning in details.warnings[:TAIL_ROWS]]
    return RenderedCall(title, [*body, *diagnostics(view, theme, details.diagnostics)])


def _name(view: ToolCallView) -> str:
    path = text_arg(view, "path", "file_path")
    count = 1
    if not path:
        path, count = diff_body.patch_files(text_arg(view, "input"))
    more = f" and {count - 1} more" if count > 1 else ""
    return short_path(path, view.cwd) + more if path else ""


def _texts(view: ToolCallView) -> tuple[str, str]:
    old = text_arg(view, "old_text", "old_string", "oldText")
    return old, text_arg(view, "new_text", "new_string", "newText")


def _progress(view: ToolCallView) -> str:
    if view.state != "streaming":
        return ""
    new = _texts(view)[1] or text_arg(view, "input")
    return f"{quantity(new.count(chr(10)) + 1, 'line')} so far" if new else ""


def _planned_change(view: ToolCallView, theme: Theme) -> list[Component]:
    """What the call would do, as far as written."""
    limit = rows_limit(view, TAIL_ROWS)
    streaming = view.state == "streaming"
    text = text_arg(view, "input")
    if text:
        return [diff_body.patch(theme, text, HEAD_ROWS if streaming else limit, from_end=streaming)]
    old, new = _texts(view)
    if not streaming:
        return [diff_body.replacement(theme, old, new, limit)] if old or new else []
    if new:
        return [diff_body.changed_lines(theme, new, HEAD_ROWS, from_end=True)]
    return [diff_body.changed_lines(theme, old, HEAD_ROWS, sign="-", from_end=True)] if old else []
