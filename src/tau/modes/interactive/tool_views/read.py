"""read: one line per read; expanded, its numbered, highlighted lines. Several share a block."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import UNSET

from tau.coding.tools.read import ReadDetails
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    TAIL_ROWS,
    LazyRows,
    first_lines,
    head,
    more_row,
    remark,
)
from tau.modes.interactive.tool_views.code_body import CodeBody, CodeLine, code
from tau.modes.interactive.tool_views.endings import unhappy
from tau.modes.interactive.tool_views.image_body import pictures
from tau.modes.interactive.tool_views.labels import counted, ending, one_line, shown_path, text_arg, titled
from tau.modes.interactive.tool_views.languages import language_of
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap

COLORED_LINES = 400
"""Longer files are not highlighted, since it would take too long."""


@cache
def _numbered() -> re.Pattern[str]:
    return re.compile(r"(\d+(?:-\d+)?):(.*)", re.DOTALL)


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(ReadDetails, view.details)
    body = [*unhappy(view, theme), *pictures(view, theme, _name(view))]
    if view.state == "done":
        body += _told(details, theme)
        body += _content(view, theme, details) if view.expanded else []
    return RenderedCall(titled(theme, "Read", _name(view)), body, ending(view, theme, _facts(view, details)))


def draw_group(views: Sequence[ToolCallView], theme: Theme) -> RenderedCall:
    """Consecutive reads: a line each; expanded, all content."""
    body: list[Component] = []
    if any(view.expanded for view in views):
        for view in views:
            body += [_heading(view, theme), *draw(view._replace(expanded=True), theme).body]
    else:
        body.append(_list(views, theme))
        for view in views:
            body += unhappy(view, theme) if view.state in ("failed", "declined") else []
            body += pictures(view, theme, _name(view))
    failed = sum(view.state == "failed" for view in views)
    stopped = sum(view.state == "aborted" for view in views)
    notes = [theme["error"](f"{failed} failed")] if failed else []
    notes += [theme["warning"](f"{stopped} stopped")] if stopped else []
    title = f"{theme['strong']('Read')} {theme['accent'](counted(len(views), 'file'))}"
    return RenderedCall(title, body, ", ".join(notes))


def _list(views: Sequence[ToolCallView], theme: Theme) -> Component:
    def paint(width: int) -> list[str]:
        rows = [_item(view, theme, width, last=view is views[-1]) for view in views[:TAIL_ROWS]]
        if len(views) > TAIL_ROWS:
            rows.append(more_row(theme, len(views) - TAIL_ROWS, "more file", width))
        return rows

    return LazyRows(theme, paint)


def _item(view: ToolCallView, theme: Theme, width: int, *, last: bool) -> str:
    symbols = theme.symbols
    guide = ""
    if not theme.linear:
        guide = theme["border"](symbols.tree_last if last else symbols.tree_branch) + " "
    if view.state in ("failed", "aborted", "declined") and not theme.linear:
        guide += theme["error"](symbols.cross) + " "
    facts = ending(view, theme, _facts(view, details_as(ReadDetails, view.details)))
    name = theme["accent"](_name(view) or symbols.ellipsis)
    return truncate(f"{guide}{name}  {facts}".rstrip(), width, symbols.ellipsis)


def _heading(view: ToolCallView, theme: Theme) -> Component:
    symbols = theme.symbols
    sad = view.state in ("failed", "aborted", "declined")
    sign = theme["error"](symbols.cross) if sad else theme["muted"](symbols.unfolded)
    facts = ending(view, theme, _facts(view, details_as(ReadDetails, view.details)))
    text = f"{theme['strong'](_name(view) or symbols.ellipsis)}  {facts}".rstrip()
    return LazyRows(theme, lambda width: wrap(text if theme.linear else f"{sign} {text}", width))


def _name(view: ToolCallView) -> str:
    return shown_path(text_arg(view, "path", "file_path", "file", "filename"), view.cwd)


def _facts(view: ToolCallView, details: ReadDetails | None) -> str:
    if view.state != "done" or details is None:
        return ""
    if details.kind != "file":
        return details.kind if details.mime_type is UNSET else one_line(details.mime_type, 40)
    if details.total_lines is UNSET:
        return ""
    total = counted(details.total_lines, "line")
    if details.summary is not UNSET:
        return f"summary of {total}"
    if details.first_line is UNSET or details.last_line is UNSET:
        return total
    if (details.first_line, details.last_line) == (1, details.total_lines):
        return total
    return f"lines {details.first_line}-{details.last_line} of {details.total_lines:,}"


def _told(details: ReadDetails | None, theme: Theme) -> list[Component]:
    """What to know without expanding it."""
    if details is None or details.suffix_resolution is UNSET:
        return []
    return [remark(theme, f"{details.suffix_resolution.removesuffix('.')}.")]


def _content(view: ToolCallView, theme: Theme, details: ReadDetails | None) -> list[Component]:
    text = view.text
    if details is not None and details.kind not in ("file", "document"):
        return [head(theme, text, MAX_ROWS if view.images == [] else HEAD_ROWS, token="text")]
    lines, below = first_lines(text, MAX_ROWS)
    path = text_arg(view, "path", "file_path", "file", "filename")
    language = language_of(path.partition(":")[0]) if len(lines) <= COLORED_LINES else ""
    rows: list[CodeLine] = []
    for line in lines:
        found = _numbered().fullmatch(line)
        if found is not None:
            rows.append(CodeLine(found[1], found[2]))
        elif not line.startswith("¶"):
            rows.append(CodeLine("", line, is_remark=line == "..." or line.startswith("[")))
    return [code(theme, CodeBody(rows, language, below=below))]
