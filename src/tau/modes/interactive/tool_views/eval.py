"""eval: code cells, each with its output, displays or error."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.tools.eval_output import EvalDetails
from tau.modes.interactive.tool_views.body_parts import (
    LIVE_ROWS,
    MAX_ROWS,
    LazyRows,
    first_lines,
    remark,
    tail,
)
from tau.modes.interactive.tool_views.code_body import CodeBody, CodeLine, code, last_code
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.image_body import pictures
from tau.modes.interactive.tool_views.labels import elapsed, first_line, list_arg, note, one_line
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate

COLLAPSED_CELLS = 3
CODE_ROWS = 5
OUTPUT_ROWS = 6
"""Rows of each cell; a single one has more."""
SINGLE_CODE_ROWS = 8
SINGLE_OUTPUT_ROWS = 12
MAX_CELLS = 100
_LANGUAGES = {"py": "python", "python": "python", "js": "js"}
_NAMES = {"python": "Python", "js": "JavaScript"}
_STATUSES = {
    "": ("", "", ""),
    "complete": ("success", "check", "done"),
    "error": ("error", "cross", "failed"),
    "running": ("info", "pointer", "running"),
    "pending": ("dim", "bullet", "waiting"),
    "stopped": ("warning", "cross", "stopped"),
}
"""The token, the symbol and the word of each."""


class EvalCell(NamedTuple):
    """A cell, from the arguments or from the tool's details."""

    language: str
    code: str
    title: str = ""
    status: str = ""
    output: str = ""
    duration_ms: int = 0


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(EvalDetails, view.details)
    if details is None:
        cells = _cells_of_call(view)
    else:
        cells = _cells_of_result(details, is_stopped=view.state == "aborted")
    title = _title(theme, cells)
    body = _body(view, theme, cells)
    body += problem(view, theme) if details is None else []
    if details is not None and details.meta is not UNSET:
        body += _truncated(view, theme)
    return RenderedCall(title, [*body, *pictures(view, theme)], note(view, theme, _took(view, cells)))


def _cells_of_call(view: ToolCallView) -> list[EvalCell]:
    cells: list[EvalCell] = []
    for each in list_arg(view, "cells")[:MAX_CELLS]:
        if isinstance(each, Mapping):
            text = {key: value for key, value in each.items() if isinstance(value, str)}
            language = _LANGUAGES.get(text.get("language", ""), "")
            cells.append(EvalCell(language, text.get("code", ""), text.get("title", "")))
    return cells


def _cells_of_result(details: EvalDetails, *, is_stopped: bool) -> list[EvalCell]:
    return [
        EvalCell(
            cell.language,
            cell.code,
            "" if cell.title is UNSET else cell.title,
            "stopped" if is_stopped and cell.status == "error" else cell.status,
            cell.output,
            cell.duration_ms,
        )
        for cell in details.cells[:MAX_CELLS]
    ]


def _title(theme: Theme, cells: Sequence[EvalCell]) -> str:
    language = _NAMES.get(cells[0].language, "Eval") if cells else "Eval"
    if not cells:
        return f"{theme['strong'](language)} {theme.symbols.ellipsis}"
    what = one_line(cells[0].title) or first_line(cells[0].code)
    if len(cells) > 1:
        named = [one_line(cell.title, 60) for cell in cells if cell.title]
        what = quantity(len(cells), "cell") + (f": {', '.join(named[:3])}" if named else "")
    return f"{theme['strong'](language)} {theme['accent'](what)}".rstrip()


def _took(view: ToolCallView, cells: Sequence[EvalCell]) -> str:
    known = sum(cell.duration_ms for cell in cells) if view.over else 0
    if known or view.state == "pending":
        return elapsed(known)
    return elapsed(view.elapsed_ms)


def _body(view: ToolCallView, theme: Theme, cells: Sequence[EvalCell]) -> list[Component]:
    single = len(cells) == 1
    is_mixed = len({cell.language for cell in cells}) > 1
    most = MAX_CELLS if view.expanded else COLLAPSED_CELLS
    shown = list(enumerate(cells))
    if not view.over and len(cells) > most:
        shown = shown[-most:]
    elif len(cells) > most:
        failed = [item for item in shown if item[1].status == "error"]
        shown = (shown[: most - len(failed[:1])] + [item for item in failed[:1] if item[0] >= most])[:most]
    parts: list[Component] = []
    for number, cell in shown:
        if not single:
            language = _NAMES.get(cell.language, "") if is_mixed else ""
            parts.append(_heading(theme, cell, language, number + 1, len(cells)))
        parts += _cell(view, theme, cell, single=single)
    if len(cells) > len(shown):
        parts.append(remark(theme, f"{quantity(len(cells) - len(shown), 'more cell')}.", "dim"))
    return parts


def _heading(theme: Theme, cell: EvalCell, language: str, number: int, count: int) -> Component:
    def paint(width: int) -> list[str]:
        token, symbol, word = _STATUSES[cell.status]
        sign = theme[token](getattr(theme.symbols, symbol)) + " " if symbol and not theme.linear else ""
        facts = [word, elapsed(cell.duration_ms), language]
        note = theme["muted"](", ".join(fact for fact in facts if fact))
        row = f"{sign}{theme['strong'](f'{number}/{count}')} {one_line(cell.title)}".rstrip()
        return [truncate(f"{row}  {note}".rstrip(), width, theme.symbols.ellipsis)]

    return LazyRows(theme, paint)


def _cell(view: ToolCallView, theme: Theme, cell: EvalCell, *, single: bool) -> list[Component]:
    code_rows, output_rows = (SINGLE_CODE_ROWS, SINGLE_OUTPUT_ROWS) if single else (CODE_ROWS, OUTPUT_ROWS)
    if view.expanded:
        code_rows = output_rows = MAX_ROWS if view.over else LIVE_ROWS
    parts: list[Component] = []
    in_title = single and not cell.title and "\n" not in cell.code.strip()
    if cell.code.strip() and not (in_title and not view.expanded):
        parts += [remark(theme, "Code:")] if theme.linear else []
        parts.append(_code(view, theme, cell, code_rows))
    if cell.output.strip():
        token = "error" if cell.status == "error" else "text"
        parts += [remark(theme, "Output:")] if theme.linear else []
        parts.append(tail(theme, cell.output, output_rows, token=token))
    return parts


def _code(view: ToolCallView, theme: Theme, cell: EvalCell, max_rows: int) -> Component:
    """Streaming code shows its end, other code its start."""
    mark = theme.symbols.quote  # distinguishes code from output without colors
    if view.state == "streaming":
        shown = last_code(cell.code, cell.language, max_rows, mark)
        return code(theme, shown, max_rows + 1, wrapped=False)
    lines, below = first_lines(cell.code.strip("\n"), max_rows)
    rows = [CodeLine(mark, line) for line in lines]
    return code(theme, CodeBody(rows, cell.language, below=below), max_rows, wrapped=view.expanded)


def _truncated(view: ToolCallView, theme: Theme) -> list[Component]:
    """Where the full output is, if it was too long."""
    for line in reversed(view.text[-2_000:].split("\n")):
        if line.startswith("[Showing ") and line.endswith("]"):
            return [remark(theme, line[1:-1])]
    return []
