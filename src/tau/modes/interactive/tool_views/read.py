"""read: one line per read; expanded, its numbered, highlighted lines. Several share a block."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.tools.read import DisplayContent, ReadDetails
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    TAIL_ROWS,
    LazyRows,
    first_lines,
    head,
    one_per_row,
    remark,
)
from tau.modes.interactive.tool_views.code_body import CodeBody, CodeLine, code
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.image_body import pictures
from tau.modes.interactive.tool_views.labels import heading, note, one_line, short_path, text_arg
from tau.modes.interactive.tool_views.languages import language_of
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.wrap import wrap

COLORED_LINES = 400
"""Longer files are not highlighted, since it would take too long."""


@cache
def _line_pattern() -> re.Pattern[str]:
    return re.compile(r"(\d+(?:-\d+)?):(.*)", re.DOTALL)


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(ReadDetails, view.details)
    body = [*problem(view, theme), *pictures(view, theme, _name(view))]
    if view.state == "done":
        body += _remarks(details, theme)
        body += _content(view, theme, details) if view.expanded else []
    return RenderedCall(heading(theme, "Read", _name(view)), body, note(view, theme, _facts(view, details)))


def draw_group(views: Sequence[ToolCallView], theme: Theme) -> RenderedCall:
    """Consecutive reads: a line each; expanded, all content."""
    body: list[Component] = []
    if any(view.expanded for view in views):
        for view in views:
            body += [_heading(view, theme), *draw(view._replace(expanded=True), theme).body]
    else:
        body.append(_list(views, theme))
        for view in views:
            body += problem(view, theme) if view.state in ("failed", "declined") else []
            body += pictures(view, theme, _name(view))
    failed = sum(view.state == "failed" for view in views)
    stopped = sum(view.state == "aborted" for view in views)
    notes = [theme["error"](f"{failed} failed")] if failed else []
    notes += [theme["warning"](f"{stopped} stopped")] if stopped else []
    title = f"{theme['strong']('Read')} {theme['accent'](quantity(len(views), 'file'))}"
    return RenderedCall(title, body, ", ".join(notes))


def _list(views: Sequence[ToolCallView], theme: Theme) -> Component:
    lines = [_item(view, theme, last=view is views[-1]) for view in views[:TAIL_ROWS]]
    return one_per_row(theme, lines, len(views) - TAIL_ROWS, "more file")


def _item(view: ToolCallView, theme: Theme, *, last: bool) -> str:
    symbols = theme.symbols
    guide = ""
    if not theme.linear:
        guide = theme["border"](symbols.tree_last if last else symbols.tree_branch) + " "
    if view.state in ("failed", "aborted", "declined") and not theme.linear:
        guide += theme["error"](symbols.cross) + " "
    facts = note(view, theme, _facts(view, details_as(ReadDetails, view.details)))
    name = theme["accent"](_name(view) or symbols.ellipsis)
    return f"{guide}{name}  {facts}".rstrip()


def _heading(view: ToolCallView, theme: Theme) -> Component:
    symbols = theme.symbols
    is_bad = view.state in ("failed", "aborted", "declined")
    sign = theme["error"](symbols.cross) if is_bad else theme["muted"](symbols.unfolded)
    facts = note(view, theme, _facts(view, details_as(ReadDetails, view.details)))
    text = f"{theme['strong'](_name(view) or symbols.ellipsis)}  {facts}".rstrip()
    return LazyRows(theme, lambda width: wrap(text if theme.linear else f"{sign} {text}", width))


def _name(view: ToolCallView) -> str:
    return short_path(text_arg(view, "path", "file_path", "file", "filename"), view.cwd)


def _facts(view: ToolCallView, details: ReadDetails | None) -> str:
    if view.state != "done" or details is None:
        return ""
    if details.kind == "url":
        return one_line("" if details.method is UNSET else details.method, 40)
    if details.kind != "file":
        return details.kind if details.mime_type is UNSET else one_line(details.mime_type, 40)
    if details.total_lines is UNSET:  # a very large file
        return "" if details.first_line is UNSET else f"lines {details.first_line}-{details.last_line}"
    total = quantity(details.total_lines, "line")
    if details.summary is not UNSET:
        return f"summary of {total}"
    if details.first_line is UNSET or details.last_line is UNSET:
        return total
    if (details.first_line, details.last_line) == (1, details.total_lines):
        return total
    return f"lines {details.first_line}-{details.last_line} of {details.total_lines:,}"


def _remarks(details: ReadDetails | None, theme: Theme) -> list[Component]:
    """What to know without expanding it."""
    if details is None or details.suffix_resolution is UNSET:
        return []
    return [remark(theme, f"{details.suffix_resolution.removesuffix('.')}.")]


def _content(view: ToolCallView, theme: Theme, details: ReadDetails | None) -> list[Component]:
    text = view.text
    if details is not None and details.kind not in ("file", "document"):
        return [head(theme, text, MAX_ROWS if view.images == [] else HEAD_ROWS, token="toolOutput")]
    if details is not None and details.display_content is not UNSET and details.kind == "file":
        return [_display(view, theme, details.display_content)]
    lines, below = first_lines(text, MAX_ROWS)
    rows: list[CodeLine] = []
    for line in lines:
        found = _line_pattern().fullmatch(line)
        if found is not None:
            rows.append(CodeLine(found[1], found[2]))
        elif not line.startswith("¶"):
            rows.append(CodeLine("", line, is_remark=line == "..." or line.startswith("[")))
    return [code(theme, CodeBody(rows, _language(view, len(lines)), below=below))]


def _display(view: ToolCallView, theme: Theme, shown: DisplayContent) -> Component:
    """The lines with their numbers, however they were sent, and what follows them for the model."""
    lines, below = first_lines(shown.text, MAX_ROWS)
    rows = [CodeLine(str(number), line) for number, line in enumerate(lines, shown.start_line)]
    sent = view.text.split("\n")
    starts = (f"{shown.start_line}:{lines[0]}", lines[0])
    first = next((at for at, line in enumerate(sent) if line in starts), len(sent))
    after = sent[first + shown.text.count("\n") + 1 :]
    rows += [CodeLine("", line, is_remark=True) for line in after if not below]
    return code(theme, CodeBody(rows, _language(view, len(lines)), below=below))


def _language(view: ToolCallView, lines: int) -> str:
    path = text_arg(view, "path", "file_path", "file", "filename")
    return language_of(path.partition(":")[0]) if lines <= COLORED_LINES else ""
