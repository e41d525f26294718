"""todo: maintains the agent's task list, which the user sees."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.coding.ports import CodingContext
from tau.coding.todo.list import (
    MARKS,
    CompletedTask,
    Phases,
    TodoItem,
    TodoOp,
    TodoPhase,
    TodoStorage,
    apply_ops,
    completed_between,
    tasks_of,
)

CLEARED = "Todo list cleared."
EMPTY = "The todo list is empty."


class TodoParams(Struct, frozen=True):
    ops: Annotated[list[TodoOp], Meta(title="Operations, in order", min_length=1)]


class TodoDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """The whole list; a resumed session restores it from here."""

    phases: Phases
    storage: TodoStorage
    completed_tasks: list[CompletedTask] | UnsetType = UNSET


class Todo(Tool[TodoParams]):
    name, label = "todo", "Todo"
    exclusive = True

    async def run(self, params: TodoParams, ctx: CodingContext) -> ToolOutput:
        todos = ctx.todos
        before = todos.phases
        phases, errors = apply_ops(before, params.ops)
        looking = all(op.op == "view" for op in params.ops)
        if phases != before:
            todos.keep(phases)
        done = completed_between(before, phases)
        details = TodoDetails(phases=phases, storage=todos.storage, completed_tasks=done or UNSET)
        return ToolOutput.text(summary(phases, errors, looking=looking), details, is_error=bool(errors))


def summary(phases: Phases, errors: list[str] | None = None, *, looking: bool = False) -> str:
    """The list for the model: errors, remaining tasks, progress, and all phases."""
    parts = [f"Errors: {' '.join(errors)}"] if errors else []
    if any(phase.tasks for phase in phases):
        parts += [_remaining(phases), "\n".join(_tree(phases))]
    elif not errors:
        parts.append(EMPTY if looking else CLEARED)
    return "\n\n".join(parts)


def _remaining(phases: Phases) -> str:
    left = [(phase, task) for phase, task in tasks_of(phases) if task.is_open]
    if not left:
        return "Nothing remains: all tasks are completed or dropped."
    lines = [f"Remaining ({len(left)}):"]
    for phase, task in left:
        active = ", in progress" if task.status == "in_progress" else ""
        lines.append(f"- {task.content} ({phase.name}{active})")
    current = left[0][0]
    for phase, task in left:
        if task.status == "in_progress":
            current = phase
    number = next(place for place, phase in enumerate(phases, start=1) if phase is current)
    closed = sum(not task.is_open for task in current.tasks)
    lines.append(
        f'Phase {number} of {len(phases)}, "{current.name}": {closed} of {len(current.tasks)} tasks closed.'
    )
    return "\n".join(lines)


def _tree(phases: Phases) -> list[str]:
    lines: list[str] = []
    for phase in phases:
        lines.append(_heading(phase))
        for task in phase.tasks:
            lines.append(f"  [{MARKS[task.status]}] {task.content}")
            lines += _notes(task)
    return lines


def _heading(phase: TodoPhase) -> str:
    return phase.name if phase.tasks else f"{phase.name} (no tasks)"


def _notes(task: TodoItem) -> list[str]:
    """Notes in full for the task in progress, as a count for the others."""
    if isinstance(task.notes, UnsetType) or not task.notes:
        return []
    if task.status != "in_progress":
        count = len(task.notes)
        return [f"      ({count} {'note' if count == 1 else 'notes'})"]
    return [f"      {line}" for note in task.notes for line in note.split("\n")]
