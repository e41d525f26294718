"""ast_edit: a preview of the replacements, pending a resolve call."""

from collections.abc import Mapping

from tau.base.text import quantity
from tau.coding.tools.ast_edit import AstEditDetails
from tau.modes.interactive.tool_views import diff_body
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    TAIL_ROWS,
    head,
    one_per_row,
    remark,
    rows_limit,
)
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import (
    changes,
    heading,
    in_paths,
    list_arg,
    note,
    one_line,
    short_path,
)
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

OP_ROWS = 4


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    ops = list_arg(view, "ops")
    first = _op(theme, ops[0]) if ops else ""
    title = heading(theme, "Rewrite code", first)
    title += in_paths(view, theme)
    body: list[Component] = []
    if len(ops) > 1:
        body.append(_ops(view, theme, ops))
    body += problem(view, theme)
    details = details_as(AstEditDetails, view.details)
    if view.state == "done":
        body += _result(view, theme, details)
    return RenderedCall(title, body, note(view, theme, _facts(details) if view.state == "done" else ""))


def replaced(details: AstEditDetails) -> str:
    """`5 replacements in 2 files`."""
    return f"{quantity(details.replacements, 'replacement')} in {quantity(len(details.files), 'file')}"


def _facts(details: AstEditDetails | None) -> str:
    if details is None:
        return ""
    if details.state == "unchanged":
        return "no matches"
    return f"preview: {replaced(details)}" if details.state == "preview" else replaced(details)


def _op(theme: Theme, op: object) -> str:
    if not isinstance(op, Mapping):
        return ""
    pattern, out = (value if isinstance(value := op.get(key), str) else "" for key in ("pat", "out"))
    become = "becomes" if theme.linear else "->"
    return f"{one_line(pattern, 150)} {become} {one_line(out, 150) or '(nothing)'}"


def _ops(view: ToolCallView, theme: Theme, ops: list[object]) -> Component:
    most = MAX_ROWS if view.expanded else OP_ROWS
    lines = [theme["accent"](_op(theme, op)) for op in ops[1:most]]
    return one_per_row(theme, lines, len(ops) - most, "more rewrite")


def _result(view: ToolCallView, theme: Theme, details: AstEditDetails | None) -> list[Component]:
    if details is None:
        return [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="toolOutput")]
    parts = diffs(theme, details, rows_limit(view, TAIL_ROWS))
    broken = [short_path(file.path, view.cwd) for file in details.files if file.broken]
    if broken:
        parts.append(remark(theme, f"This would cause a syntax error in {', '.join(broken[:5])}.", "warning"))
    if details.state == "preview":
        parts.append(remark(theme, "Not written yet: resolve applies or discards this preview."))
    return parts


def diffs(theme: Theme, details: AstEditDetails, max_rows: int) -> list[Component]:
    """The diffs of all files."""
    texts = [file.diff for file in details.files[:MAX_ROWS]]
    return [diff_body.diff(theme, texts, max_rows, named=True)] if any(texts) else []


def file_list(view: ToolCallView, theme: Theme, details: AstEditDetails) -> Component:
    """A row per file with its counts."""
    limit = rows_limit(view, HEAD_ROWS)
    lines = [
        f"{theme['accent'](short_path(file.path, view.cwd))} {changes(theme, file.added, file.removed)}"
        for file in details.files[:limit]
    ]
    return one_per_row(theme, lines, len(details.files) - limit, "more file")
