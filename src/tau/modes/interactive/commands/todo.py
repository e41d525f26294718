"""`/todo`: shows and edits the todo list."""

from collections.abc import Sequence
from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.base.files import mode_of, open_at_once, typed_path, write_atomic
from tau.base.sizes import KIB, format_bytes
from tau.coding.todo.list import MARKS, Phases, TodoItem, TodoOp, TodoOpName, open_tasks, tasks_of
from tau.coding.todo.markdown import ORPHANS, from_markdown, to_markdown
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.composer.clipboard import copy_text
from tau.modes.session_report import count

LEGEND = "Tasks: # phase, - [ ] task, - [/] in progress, - [x] done"
FILE = "TODO.md"
MAX_FILE_BYTES = 256 * KIB
USAGE = (
    "Usage: /todo, /todo edit, /todo append [PHASE:] TEXT, /todo start, done, drop or rm TASK, "
    "/todo copy, /todo export [FILE], /todo import [FILE] or /todo clear; a task is its number or its text."
)
CLOSING: dict[str, tuple[TodoOpName, str]] = {
    "done": ("done", "Done"),
    "drop": ("drop", "Dropped"),
    "rm": ("rm", "Removed"),
}


async def todo(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    verb, _, words = rest.partition(" ")
    words = words.strip()
    phases = context.require_session().todos.recorded
    match verb:
        case "" | "show":
            context.say("\n".join(list_lines(phases)) or "No tasks; add one with /todo append TEXT.")
        case "edit":
            await _edit(context, phases)
        case "copy":
            context.say(await copy_text(to_markdown(phases), context.display.terminal))
        case "export":
            _export(context, phases, words)
        case "import":
            _replace(context, _read(context.require_session().cwd / typed_path(words or FILE)))
        case "append":
            _append(context, phases, words)
        case "start":
            task = _task(phases, words)
            _change(context, TodoOp(op="start", task=task.content), f"In progress: {task.content}")
        case "done" | "drop" | "rm":
            _close_tasks(context, phases, verb, words)
        case "clear":
            context.require_session().todos.edit(())
            _show(context, "Todo list cleared.")
        case _:
            raise UsageError(USAGE)


def list_lines(phases: Phases) -> list[str]:
    """One line per task, with its number."""
    lines: list[str] = []
    number = 0
    for phase in phases:
        if len(phases) > 1 or phase.name != ORPHANS:
            lines.append(phase.name)
        for task in phase.tasks:
            number += 1
            lines.append(f"{number:>3} [{MARKS[task.status]}] {task.content}")
    return lines


async def _edit(context: CommandContext, phases: Phases) -> None:
    text = await context.ui.editor(LEGEND, to_markdown(phases))
    if text is None or text.strip() == to_markdown(phases).strip():
        context.say("Todo list unchanged.")
    else:
        _replace(context, text)


def _replace(context: CommandContext, text: str) -> None:
    """Replace the list from Markdown and report lines that do not parse."""
    parsed = from_markdown(text)
    if parsed.errors and not parsed.phases:
        raise TauError(f"No tasks found. {parsed.errors[0]}")
    context.require_session().todos.edit(parsed.phases)
    _show(context, f"The list now has {count(len(list(tasks_of(parsed.phases))), 'task')}.")
    if parsed.errors:
        context.say("\n".join(parsed.errors[:10]), "warning")


def _export(context: CommandContext, phases: Phases, words: str) -> None:
    force = words.startswith("--force")
    path = context.require_session().cwd / typed_path(words.removeprefix("--force").strip() or FILE)
    if mode_of(path) and not force:
        raise UsageError(f"{path} already exists; choose another file or use /todo export --force FILE.")
    try:
        write_atomic(path, to_markdown(phases).encode("utf-8", "replace"))
    except OSError as error:
        raise TauError(f"Cannot write {path}: {error.strerror or error}.") from error
    context.say(f"Exported the tasks to {path}.")


def _read(path: Path) -> str:
    try:
        with open(path, "rb", opener=open_at_once) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise TauError(f"Cannot read {path}: {error.strerror or error}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise TauError(f"{path} is larger than {format_bytes(MAX_FILE_BYTES)}.")
    return data.decode("utf-8", "replace")


def _append(context: CommandContext, phases: Phases, words: str) -> None:
    """Append to the phase named before a colon, or to the current one."""
    if not words:
        raise UsageError("Usage: /todo append TEXT or /todo append PHASE: TEXT.")
    named, colon, text = words.partition(":")
    names = [phase.name for phase in phases if phase.name.lower() == named.strip().lower()]
    if not colon or not names or not text.strip():
        under_way = [phase.name for phase in phases if any(task.is_open for task in phase.tasks)]
        names, text = under_way[:1] or [phase.name for phase in phases[-1:]] or [ORPHANS], words
    text = text.strip()
    _change(context, TodoOp(op="append", phase=names[0], items=[text]), f"Added: {text}")


def _close_tasks(context: CommandContext, phases: Phases, verb: str, words: str) -> None:
    """Close a task, a phase, or all; without a name, `done` and `drop` mean the current task."""
    phase = next((one.name for one in phases if one.name.lower() == words.lower()), None)
    op, message = CLOSING[verb]
    if words == "all":
        _change(context, TodoOp(op=op), f"{message}: all tasks")
    elif phase is not None:
        _change(context, TodoOp(op=op, phase=phase), f"{message}: {phase}")
    else:
        task = _current_task(phases) if not words and verb != "rm" else _task(phases, words)
        _change(context, TodoOp(op=op, task=task.content), f"{message}: {task.content}")


def _current_task(phases: Phases) -> TodoItem:
    for _, task in tasks_of(phases):
        if task.status == "in_progress":
            return task
    raise TauError("No task is in progress.")


def _task(phases: Phases, words: str) -> TodoItem:
    """Find a task by number, by text, or by a unique part of its text."""
    tasks = [task for _, task in tasks_of(phases)]
    if not words:
        raise UsageError(USAGE)
    if words.isdecimal() and 1 <= int(words) <= len(tasks):
        return tasks[int(words) - 1]
    exact = [task for task in tasks if task.content == words]
    matches = exact or [task for task in tasks if words.lower() in task.content.lower()]
    if len(matches) != 1 and not exact:
        problem = f"{len(matches)} tasks have" if matches else "No task has"
        raise UsageError(f'{problem} "{words}" in its text; /todo lists them by number.')
    return matches[0]


def _change(context: CommandContext, op: TodoOp, message: str) -> None:
    errors: Sequence[str] = context.require_session().todos.change([op])
    if errors:
        raise UsageError(" ".join(errors))
    _show(context, message)


def _show(context: CommandContext, message: str) -> None:
    left = len(open_tasks(context.require_session().todos.recorded))
    context.transcript.todo.refresh()
    context.say(f"{message}\n{count(left, 'task').capitalize()} left." if left else message)
