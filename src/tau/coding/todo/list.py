"""The todo list: phases of tasks, the operations on them, and the storage port."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal, Protocol

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

Status = Literal["pending", "in_progress", "completed", "abandoned"]
TodoOpName = Literal["init", "start", "done", "drop", "rm", "append", "note", "view"]
TodoStorage = Literal["session", "memory"]

MAX_TASKS = 500
MAX_TEXT_CHARS = 24_000  # of all tasks and notes: every result contains the whole list
NO_CONTENT = "A task has no text."
CLOSED: tuple[Status, ...] = ("completed", "abandoned")
MARKS: dict[Status, str] = {"pending": " ", "in_progress": "/", "completed": "x", "abandoned": "-"}


class TodoItem(Struct, frozen=True, rename="camel"):
    """A task is identified by its `content`."""

    content: str
    status: Status = "pending"
    notes: tuple[str, ...] | UnsetType = UNSET

    @property
    def is_open(self) -> bool:
        return self.status not in CLOSED


class TodoPhase(Struct, frozen=True, rename="camel"):
    name: str
    tasks: tuple[TodoItem, ...] = ()


Phases = tuple[TodoPhase, ...]
Change = Callable[[TodoItem], TodoItem]


class NewPhase(Struct, frozen=True):
    phase: Annotated[str, Meta(title="Name of the phase")]
    items: Annotated[list[str], Meta(title="Its tasks in order", min_length=1)]


class TodoOp(Struct, frozen=True, kw_only=True):
    """One operation; which fields it needs depends on `op`."""

    op: Annotated[TodoOpName, Meta(title="What to do")]
    phases: Annotated[list[NewPhase] | None, Meta(title="init: the whole new list, phase by phase")] = field(
        default=None, name="list"
    )
    task: Annotated[str | None, Meta(title="start, note, and done, drop, rm of one task: its exact text")] = (
        None
    )
    phase: Annotated[
        str | None, Meta(title="append, and done, drop, rm of a whole phase: its exact name")
    ] = None
    items: Annotated[
        Annotated[list[str], Meta(min_length=1)] | None, Meta(title="append: the tasks to add")
    ] = None
    text: Annotated[str | None, Meta(title="note: what to remember about the task")] = None


class CompletedTask(Struct, frozen=True, rename="camel"):
    """A newly completed task."""

    phase: str
    content: str


class TodoBoard(Protocol):
    """Stores the list."""

    @property
    def phases(self) -> Phases: ...
    @property
    def storage(self) -> TodoStorage: ...
    def keep(self, phases: Phases) -> None: ...


class TodoError(Exception):
    """An operation failed; the message is a sentence."""


def apply_ops(phases: Phases, ops: Sequence[TodoOp]) -> tuple[Phases, list[str]]:
    """Apply the operations in order; returns the new list and the errors.

    A failed operation changes nothing; the others still apply. At the end one task is in progress.
    """
    errors: list[str] = []
    for op in ops:
        try:
            phases = _check_size(_apply(phases, op, errors), phases)
        except TodoError as problem:
            errors.append(str(problem))
    return normalized(phases), errors


def normalized(phases: Phases) -> Phases:
    """Leave exactly one task in progress: the first marked so, else the first pending one."""
    items = [task for _, task in tasks_of(phases)]
    active = next((task for task in items if task.status == "in_progress"), None)
    active = active or next((task for task in items if task.status == "pending"), None)
    settled = False

    def settle(task: TodoItem) -> TodoItem:
        nonlocal settled
        if task is active and not settled:
            settled = True
            return _with(task, "in_progress")
        return _with(task, "pending") if task.status == "in_progress" else task

    return _map_tasks(phases, settle)


def completed_between(before: Phases, after: Phases) -> list[CompletedTask]:
    """The tasks completed between two lists, new tasks included."""
    known = {task.content for _, task in tasks_of(before) if task.status == "completed"}
    return [
        CompletedTask(phase.name, task.content)
        for phase, task in tasks_of(after)
        if task.status == "completed" and task.content not in known
    ]


def without_closed(phases: Phases, closed: Sequence[str] | None = None) -> Phases:
    """The list without completed and dropped tasks (only the named ones, if given) and empty phases."""
    kept = []
    for phase in phases:
        tasks = tuple(
            task
            for task in phase.tasks
            if task.is_open or (closed is not None and task.content not in closed)
        )
        if tasks or not phase.tasks:
            kept.append(phase if len(tasks) == len(phase.tasks) else TodoPhase(phase.name, tasks))
    return tuple(kept) if any(phase.tasks for phase in kept) else ()


def open_tasks(phases: Phases) -> list[TodoItem]:
    return [task for _, task in tasks_of(phases) if task.is_open]


def tasks_of(phases: Phases) -> Iterator[tuple[TodoPhase, TodoItem]]:
    for phase in phases:
        for task in phase.tasks:
            yield phase, task


def one_line(text: str) -> str:
    """A name as stored and compared: on one line, trimmed."""
    return " ".join(text.splitlines()).strip()


def _apply(phases: Phases, op: TodoOp, errors: list[str]) -> Phases:
    match op.op:
        case "init":
            return _initial(op.phases)
        case "start":
            target = _task(phases, op.task)
            rested = _map_tasks(phases, lambda task: _with(task, "pending", only="in_progress"))
            return _change_task(rested, target.content, lambda task: _with(task, "in_progress"))
        case "done":
            return _close(phases, op, "completed")
        case "drop":
            return _close(phases, op, "abandoned")
        case "rm":
            return _remove(phases, op)
        case "append":
            return _append(phases, op, errors)
        case "note":
            return _add_note(phases, op)
        case "view":
            return phases


def _initial(wanted: list[NewPhase] | None) -> Phases:
    if wanted is None:
        raise TodoError("`init` needs `list`.")
    phases = []
    for phase in wanted:
        name = one_line(phase.phase)
        if not name:
            raise TodoError("`init` has a phase without a name.")
        phases.append(TodoPhase(name, tuple(TodoItem(_content(item)) for item in phase.items)))
    return tuple(phases)


def _close(phases: Phases, op: TodoOp, status: Status) -> Phases:
    if op.task is not None:
        target = _task(phases, op.task)
        return _change_task(phases, target.content, lambda task: _with(task, status))
    if op.phase is not None:
        closing = _phase(phases, op.phase)
        done = TodoPhase(closing.name, tuple(_with(task, status) for task in closing.tasks))
        return tuple(done if phase is closing else phase for phase in phases)
    return _map_tasks(phases, lambda task: _with(task, status))


def _remove(phases: Phases, op: TodoOp) -> Phases:
    if op.task is not None:
        target = _task(phases, op.task)
        return tuple(
            TodoPhase(phase.name, tuple(task for task in phase.tasks if task is not target))
            for phase in phases
        )
    if op.phase is not None:
        emptied = _phase(phases, op.phase)
        return tuple(TodoPhase(phase.name) if phase is emptied else phase for phase in phases)
    return tuple(TodoPhase(phase.name) for phase in phases)


def _append(phases: Phases, op: TodoOp, errors: list[str]) -> Phases:
    """Add the tasks; an existing one is an error."""
    name = one_line(op.phase or "")
    if not name:
        raise TodoError("`append` needs `phase`.")
    if not op.items:
        raise TodoError("`append` needs `items`.")
    known = {task.content for _, task in tasks_of(phases)}
    added = []
    for item in op.items:
        content = one_line(item)
        if not content or content in known:
            errors.append(f'Task "{content}" already exists.' if content else NO_CONTENT)
            continue
        known.add(content)
        added.append(TodoItem(content))
    target = next((phase for phase in phases if phase.name == name), None)
    if target is None:
        return (*phases, TodoPhase(name, tuple(added)))
    longer = TodoPhase(name, (*target.tasks, *added))
    return tuple(longer if phase is target else phase for phase in phases)


def _add_note(phases: Phases, op: TodoOp) -> Phases:
    target = _task(phases, op.task)
    text = "\n".join((op.text or "").splitlines()).rstrip()
    if not text:
        raise TodoError("`note` needs `text`.")
    notes = () if isinstance(target.notes, UnsetType) else target.notes
    return _change_task(phases, target.content, lambda task: replace(task, notes=(*notes, text)))


def _task(phases: Phases, wanted: str | None) -> TodoItem:
    """The first task with this text."""
    content = _content(wanted or "")
    for _, task in tasks_of(phases):
        if task.content == content:
            return task
    hint = "" if any(True for _ in tasks_of(phases)) else " The list is empty; start with `init`."
    raise TodoError(f'There is no task "{content}".{hint}')


def _phase(phases: Phases, wanted: str) -> TodoPhase:
    name = one_line(wanted)
    if not name:
        raise TodoError("The phase has no name.")
    for phase in phases:
        if phase.name == name:
            return phase
    raise TodoError(f'There is no phase "{name}".')


def _content(text: str) -> str:
    content = one_line(text)
    if not content:
        raise TodoError(NO_CONTENT)
    return content


def _with(task: TodoItem, status: Status, only: Status | None = None) -> TodoItem:
    if task.status == status or (only is not None and task.status != only):
        return task
    return replace(task, status=status)


def _map_tasks(phases: Phases, change: Change) -> Phases:
    return tuple(TodoPhase(phase.name, tuple(map(change, phase.tasks))) for phase in phases)


def _change_task(phases: Phases, content: str, change: Change) -> Phases:
    """Replace the first task with this text."""
    done = False

    def once(task: TodoItem) -> TodoItem:
        nonlocal done
        if done or task.content != content:
            return task
        done = True
        return change(task)

    return _map_tasks(phases, once)


def _check_size(phases: Phases, before: Phases) -> Phases:
    """Check the size limits; a list may always shrink."""
    problem = too_large(phases)
    if problem is not None and _size(phases) > _size(before):
        raise TodoError(problem)
    return phases


def too_large(phases: Phases) -> str | None:
    """Why a list is too large to store, as a sentence."""
    if sum(len(phase.tasks) for phase in phases) > MAX_TASKS:
        return f"The list would have more than {MAX_TASKS} tasks."
    if _size(phases) > MAX_TEXT_CHARS:
        return f"The list would be longer than {MAX_TEXT_CHARS:,} characters; write less."
    return None


def _size(phases: Phases) -> int:
    """In characters."""
    texts = [phase.name for phase in phases]
    for _, task in tasks_of(phases):
        texts.append(task.content)
        texts += () if isinstance(task.notes, UnsetType) else task.notes
    return sum(map(len, texts))
