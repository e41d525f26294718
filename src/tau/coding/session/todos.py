"""The session's todo list: stored in the log, follows the branch, cleared when done, with reminders."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec import Struct, to_builtins

from tau.agent.events import AgentEnd, Compacted, MessageEnd, TodoAutoClear, TodoReminder, TurnEnd
from tau.agent.queue import Queue
from tau.ai.wire import CustomMessage, UserMessage
from tau.base import log as logfile
from tau.base.clock import now_ms
from tau.base.errors import SessionError, TauError
from tau.coding.session.branch_state import BranchState, tool_result
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import CustomEntry, CustomMessageEntry
from tau.coding.session.reminder_queue import has_next_prompt, is_final_answer, remind, remove_reminders
from tau.coding.session.storage.log import SessionLog
from tau.coding.todo.list import (
    Phases,
    TodoItem,
    TodoOp,
    TodoStorage,
    apply_ops,
    normalized,
    open_tasks,
    tasks_of,
    too_large,
    without_closed,
)

USER_EDIT, STATE = "user_todo_edit", "todo_state"
SHOWN_TASKS = 20  # in a reminder

FAILED = (
    "The last todo call reported an error, so the list the user sees may not show your progress. "
    "Fix it with another call."
)


class TodoRules(Struct, frozen=True, kw_only=True):
    """From the settings. A negative delay never clears, 0 clears at once."""

    reminders: bool = True
    max_reminders: int = 3
    clear_delay_s: float = 60


class _Timer(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], _Timer]


def call_later(seconds: float, action: Callable[[], None]) -> _Timer:
    return asyncio.get_running_loop().call_later(seconds, action)


class _TodoData(Struct, frozen=True):
    """The fields shared by tool results and user edits."""

    phases: Phases


class Todos:
    """A `TodoBoard` over the log. `observe` gets every event; `quiet` suppresses reminders.

    The list is that of the newest tool result or user edit on this branch. Only the open tasks of a list
    that an earlier process logged are used.
    """

    def __init__(
        self,
        log: SessionLog,
        queue: Queue,
        emit: Callable[[Any], None],
        rules: TodoRules,
        *,
        running: Callable[[], bool],
        quiet: Callable[[], bool],
        later: Later,
    ) -> None:
        self._log = log
        self._queue = queue
        self._emit = emit
        self._rules = rules
        self._running = running
        self._quiet = quiet
        self._later = later
        self._newest = BranchState(log, self._read, stop="compaction")
        self._recorded: Phases | None = None  # the list in the log when last read
        self._phases: Phases = ()
        self._unrecorded: Phases | None = None  # the list that must be in the log after the turn
        self._clearing: dict[str, _Timer] = {}
        self._attempt = 0

    @property
    def phases(self) -> Phases:
        recorded = self._newest.get()
        if recorded is not self._recorded:
            self._recorded = recorded
            if recorded != self._phases:
                self._set(without_closed(recorded or ()))
        return self._phases

    @property
    def recorded(self) -> Phases:
        """The list with completed and dropped tasks, for people."""
        return self._newest.get() or ()

    @property
    def storage(self) -> TodoStorage:
        return "memory" if self._log.path is None else "session"

    def keep(self, phases: Phases) -> None:
        """Set the tool's new list, which is recorded with its result."""
        self._unrecorded = phases
        self._set(phases)

    def edit(self, phases: Phases) -> None:
        """Set the user's new list: record it and tell the model. Raises TauError."""
        problem = too_large(phases)
        if problem is not None:
            raise TauError(problem)
        phases = normalized(phases)
        self._log.append(CustomEntry(custom_type=USER_EDIT, data=to_builtins(_TodoData(phases))))
        self._recorded = self._newest.get()
        self._set(phases)
        self._report_edit()

    def change(self, ops: Sequence[TodoOp]) -> list[str]:
        """Apply operations to the list that people see; returns the problems."""
        phases, errors = apply_ops(self.recorded, ops)
        if phases != self.recorded:
            self.edit(phases)
        return errors

    def observe(self, event: object) -> None:
        """Called with every event, after all subscribers and before the checkpoints."""
        match event:
            case MessageEnd(message=UserMessage()):
                self._attempt = 0
            case TurnEnd(message=message, tool_results=results):
                self._ensure_recorded()
                if any(result.tool_name == "todo" and result.is_error for result in results):
                    remind(self._queue, "todo-error-reminder", FAILED)
                elif is_final_answer(message) and not message.text.rstrip().endswith("?"):
                    self._remind()  # an answer that asks the user something may stop
            case Compacted():
                self._record_after_compaction()
            case AgentEnd():
                remove_reminders(self._queue, "todo-error-reminder", "todo-reminder")

    def close(self) -> None:
        for timer in self._clearing.values():
            timer.cancel()

    def _record_after_compaction(self) -> None:
        """Record the list again after a compaction, since the search stops there."""
        phases = self._newest.get_past_stop()
        if phases:
            self._record(phases)

    def _ensure_recorded(self) -> None:
        """Record the list if no result has it: after a nested or stopped call."""
        phases, self._unrecorded = self._unrecorded, None
        if phases is None:
            return
        if self._newest.get() != phases:
            self._record(phases)
        self._recorded = self._newest.get()

    def _record(self, phases: Phases) -> None:
        try:
            self._log.append(CustomEntry(custom_type=STATE, data=to_builtins(_TodoData(phases))))
        except SessionError as error:
            logfile.error("The todo list could not be recorded.", error)

    def _read(self, node: EntryNode) -> Phases | None:
        if node.type == "custom":
            entry = self._log.decode(node)
            if isinstance(entry, CustomEntry) and entry.custom_type in (USER_EDIT, STATE):
                return _phases(entry.data)
            return None
        result = tool_result(self._log, node, "todo")
        return None if result is None else _phases(result.details)

    def _set(self, phases: Phases) -> None:
        self._phases = phases
        if self._rules.clear_delay_s < 0:
            return
        closed = {task.content for _, task in tasks_of(phases) if not task.is_open}
        for content in self._clearing.keys() - closed:
            self._clearing.pop(content).cancel()
        for content in closed - self._clearing.keys():
            clear = partial(self._clear, content)
            self._clearing[content] = self._later(self._rules.clear_delay_s, clear)

    def _clear(self, content: str) -> None:
        self._clearing.pop(content, None)
        left = without_closed(self.phases, (content,))
        if left != self._phases:
            self._phases = left
            self._emit(TodoAutoClear())

    def _remind(self) -> None:
        rules = self._rules
        if not rules.reminders or self._attempt >= rules.max_reminders:
            return
        if has_next_prompt(self._queue) or self._quiet():
            return
        tasks = open_tasks(self.phases)
        if tasks:
            self._attempt += 1
            remind(self._queue, "todo-reminder", reminder_text(tasks, self._attempt, rules.max_reminders))
            self._emit(TodoReminder(tasks, self._attempt, rules.max_reminders))

    def _report_edit(self) -> None:
        lines = [f"- [{task.status}] {task.content} ({phase.name})" for phase, task in tasks_of(self._phases)]
        text = "\n".join(["The user changed the todo list. It is now:", *(lines or ["(empty)"])])
        if self._running():
            self._queue.aside(CustomMessage("todo-edit", text, display=False, timestamp=now_ms()))
        else:
            self._log.append(CustomMessageEntry(custom_type="todo-edit", content=text, display=False))


def reminder_text(tasks: Sequence[TodoItem], attempt: int, most: int) -> str:
    lines = [f"- {task.content}" for task in tasks[:SHOWN_TASKS]]
    if len(tasks) > SHOWN_TASKS:
        lines.append(f"- and {len(tasks) - SHOWN_TASKS} more")
    return "\n".join(
        [
            f"You stopped, but the todo list has open tasks (reminder {attempt} of {most}):",
            *lines,
            "Continue with them. Mark those that are done, drop those no longer needed; "
            "if you need the user for one, say what you need.",
        ]
    )


def _phases(data: Any) -> Phases | None:
    try:
        return msgspec.convert(to_builtins(data), _TodoData).phases
    except (msgspec.ValidationError, TypeError):
        return None
