"""todo: the agent's phases and tasks with their states."""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from tau.base.text import quantity
from tau.coding.todo.list import TodoItem, TodoPhase, tasks_of
from tau.coding.tools.todo import TodoDetails
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    TAIL_ROWS,
    LazyRows,
    head,
    more_row,
    rows_limit,
)
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import list_arg, note, one_line
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap

_STATUSES = {
    "pending": ("text", "checkbox_off", "to do"),
    "in_progress": ("accent", "pointer", "in progress"),
    "completed": ("success", "checkbox_on", "done"),
    "abandoned": ("dim", "cross", "dropped"),
}
"""The token, the symbol and the word of each."""
_OPS = {"start": "start", "done": "finish", "drop": "drop", "rm": "remove", "append": "add", "note": "note"}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(TodoDetails, view.details)
    what = _what(view)
    title = theme["strong"]("Todo") + (f"{theme['muted'](':')} {theme['accent'](what)}" if what else "")
    body: list[Component] = problem(view, theme)
    if details is None:
        if not body and view.state == "done" and view.text.strip():
            body = [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="muted")]
        return RenderedCall(title, body, note(view, theme))
    if any(phase.tasks for phase in details.phases):
        body.append(_tree(view, theme, details))
    elif view.state == "done":
        body.append(head(theme, "The list is empty.", 1, token="muted"))
    tasks = [task for _, task in tasks_of(details.phases)]
    closed = sum(not task.is_open for task in tasks)
    facts = f"{closed} of {quantity(len(tasks), 'task')} done" if tasks else ""
    return RenderedCall(title, body, note(view, theme, facts))


def _what(view: ToolCallView) -> str:
    """The operations in a few words."""
    words: list[str] = []
    ops = list_arg(view, "ops")
    for op in ops[:3]:
        if not isinstance(op, Mapping):
            continue
        name = op.get("op")
        if name == "init":
            words.append("new list")
        elif isinstance(name, str) and name in _OPS:
            named = (op.get(key) for key in ("task", "phase"))
            about = next((one_line(text, 100) for text in named if isinstance(text, str) and text), "")
            words.append(f"{_OPS[name]} {about}".rstrip())
    more = f" and {len(ops) - 3} more" if len(ops) > 3 else ""
    return "; ".join(words) + more


def _tree(view: ToolCallView, theme: Theme, details: TodoDetails) -> Component:
    closed = () if details.completed_tasks is UNSET else details.completed_tasks
    new = {task.content for task in closed}
    return LazyRows(theme, lambda width: _paint(view, theme, details, new, width))


def _paint(view: ToolCallView, theme: Theme, details: TodoDetails, new: set[str], width: int) -> list[str]:
    limit = MAX_ROWS if view.expanded else TAIL_ROWS
    rows: list[str] = []
    missing = 0
    for phase in details.phases:
        block = _phase(view, theme, phase, new, width)
        if missing or len(rows) + len(block) > limit:
            room = 0 if missing else max(limit - len(rows), 0)
            rows += block[:room]
            missing += len(block) - room
        else:
            rows += block
    if missing:
        rows.append(more_row(theme, missing, "more row", width))
    return rows


def _phase(view: ToolCallView, theme: Theme, phase: TodoPhase, new: set[str], width: int) -> list[str]:
    """A phase without open tasks is one row, unless a task in it was just closed."""
    closed = sum(not task.is_open for task in phase.tasks)
    facts = f"{closed} of {len(phase.tasks)}"
    row = f"{theme['strong'](one_line(phase.name))}  {theme['muted'](facts)}"
    rows = [truncate(row, width, theme.symbols.ellipsis)]
    finished = closed == len(phase.tasks) and not any(task.content in new for task in phase.tasks)
    if finished and not view.expanded:
        return rows
    for task in phase.tasks:
        rows += _task(view, theme, task, width, is_new=task.content in new)
    return rows


def _task(view: ToolCallView, theme: Theme, task: TodoItem, width: int, *, is_new: bool) -> list[str]:
    text = one_line(task.content, 400)
    token, symbol, word = _STATUSES[task.status]
    if theme.linear:
        lines = wrap(f"{word}: {text}", width)
    else:
        style = theme["strong" if task.status == "in_progress" else token]
        shown = theme["strike"](text) if task.status == "abandoned" else text
        row = f"  {theme[token](getattr(theme.symbols, symbol))} {style(shown)}"
        row += f"  {theme['success']('just done')}" if is_new else ""
        lines = [truncate(row, width, theme.symbols.ellipsis)]
    if view.expanded and not isinstance(task.notes, UnsetType):
        indent = "" if theme.linear else " " * min(6, width // 3)
        for note in task.notes:
            lines += [
                theme["muted"](indent + row) for row in wrap(one_line(note, 2_000), width - len(indent))
            ]
    return lines
