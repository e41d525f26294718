"""ast_edit: a preview of the replacements, pending a resolve call."""

from collections.abc import Mapping
from typing import Any

from tau.coding.tools.ast_edit import AstEditDetails
from tau.modes.interactive.tool_views import diff_body
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    TAIL_ROWS,
    LazyRows,
    head,
    more_row,
    remark,
    rows_limit,
)
from tau.modes.interactive.tool_views.endings import unhappy
from tau.modes.interactive.tool_views.labels import (
    changes,
    counted,
    ending,
    in_paths,
    list_arg,
    one_line,
    shown_path,
    titled,
)
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate

OP_ROWS = 4


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    ops = list_arg(view, "ops")
    first = _op(theme, ops[0]) if ops else ""
    title = titled(theme, "Rewrite code", first)
    title += in_paths(view, theme)
    body: list[Component] = []
    if len(ops) > 1:
        body.append(_ops(view, theme, ops))
    body += unhappy(view, theme)
    details = details_as(AstEditDetails, view.details)
    if view.state == "done":
        body += _told(view, theme, details)
    return RenderedCall(title, body, ending(view, theme, _facts(details) if view.state == "done" else ""))


def replaced_words(details: AstEditDetails) -> str:
    """`5 replacements in 2 files`."""
    return f"{counted(details.replacements, 'replacement')} in {counted(len(details.files), 'file')}"


def _facts(details: AstEditDetails | None) -> str:
    if details is None:
        return ""
    if details.state == "unchanged":
        return "no matches"
    return f"preview: {replaced_words(details)}" if details.state == "preview" else replaced_words(details)


def _op(theme: Theme, op: Any) -> str:
    if not isinstance(op, Mapping):
        return ""
    pattern, out = (value if isinstance(value := op.get(key), str) else "" for key in ("pat", "out"))
    become = "becomes" if theme.linear else "->"
    return f"{one_line(pattern, 150)} {become} {one_line(out, 150) or '(nothing)'}"


def _ops(view: ToolCallView, theme: Theme, ops: list[Any]) -> Component:
    most = MAX_ROWS if view.expanded else OP_ROWS

    def paint(width: int) -> list[str]:
        rows = [truncate(_op(theme, op), width, theme.symbols.ellipsis) for op in ops[1:most]]
        rows = [theme["accent"](row) for row in rows]
        if len(ops) > most:
            rows.append(more_row(theme, len(ops) - most, "more rewrite", width))
        return rows

    return LazyRows(theme, paint)


def _told(view: ToolCallView, theme: Theme, details: AstEditDetails | None) -> list[Component]:
    if details is None:
        return [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="text")]
    parts = diff_of_files(theme, details, rows_limit(view, TAIL_ROWS))
    broken = [shown_path(file.path, view.cwd) for file in details.files if file.broken]
    if broken:
        parts.append(remark(theme, f"This would cause a syntax error in {', '.join(broken[:5])}.", "warning"))
    if details.state == "preview":
        parts.append(remark(theme, "Not written yet: resolve applies or discards this preview."))
    return parts


def diff_of_files(theme: Theme, details: AstEditDetails, max_rows: int) -> list[Component]:
    """The diffs of all files."""
    texts = [file.diff for file in details.files[:MAX_ROWS]]
    return [diff_body.diff(theme, texts, max_rows, named=True)] if any(texts) else []


def file_list(view: ToolCallView, theme: Theme, details: AstEditDetails) -> Component:
    """A row per file with its counts."""
    limit = rows_limit(view, HEAD_ROWS)

    def paint(width: int) -> list[str]:
        rows: list[str] = []
        for file in details.files[:limit]:
            name = theme["accent"](shown_path(file.path, view.cwd))
            row = f"{name} {changes(theme, file.added, file.removed)}"
            rows.append(truncate(row, width, theme.symbols.ellipsis))
        if len(details.files) > limit:
            rows.append(more_row(theme, len(details.files) - limit, "more file", width))
        return rows

    return LazyRows(theme, paint)
