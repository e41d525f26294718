"""The session's todo list: kept in the log, follows the branch, cleared when done, and brought to mind."""

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
from tau.coding.session.reminders import goes_on, is_last_word, remind, withdraw
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
    "The last call of todo reported an error, so the list that the user sees may not show your progress. "
    "Correct it with another call."
)


class TodoRules(Struct, frozen=True, kw_only=True):
    """What the user's settings say. A negative delay clears nothing, 0 clears at once."""

    reminders: bool = True
    max_reminders: int = 3
    clear_delay_s: float = 60


class _Timer(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], _Timer]


def later(seconds: float, action: Callable[[], None]) -> _Timer:
    return asyncio.get_running_loop().call_later(seconds, action)


class _Kept(Struct, frozen=True):
    """What a result of the tool and an edit of the user have in common."""

    phases: Phases


class Todos:
    """A `TodoBoard` over the log. `saw` is told every event; `quiet` says that nobody is to be reminded.

    The list is what the newest result of the tool, or the newest edit of the user, on this branch says. Of
    a list that comes from the log, not from this process, only the open tasks are taken.
    """

    def __init__(
        self,
        log: SessionLog,
        queue: Queue,
        emit: Callable[[Any], None],
        rules: TodoRules | None = None,
        *,
        running: Callable[[], bool] = lambda: False,
        quiet: Callable[[], bool] = lambda: False,
        later: Later = later,
    ) -> None:
        self._log = log
        self._queue = queue
        self._emit = emit
        self._rules = rules or TodoRules()
        self._running = running
        self._quiet = quiet
        self._later = later
        self._newest = BranchState(log, self._read, stop="compaction")
        self._recorded: Phases | None = None  # what the log said when it was last looked at
        self._phases: Phases = ()
        self._kept: Phases | None = None  # what is to be in the log when the turn is over
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
        """The list with all that was completed and dropped, for people."""
        return self._newest.get() or ()

    @property
    def storage(self) -> TodoStorage:
        return "memory" if self._log.path is None else "session"

    def keep(self, phases: Phases) -> None:
        """The tool's new list, which is recorded with its result."""
        self._kept = phases
        self._set(phases)

    def edit(self, phases: Phases) -> None:
        """The user's new list: recorded at once, and the model is told. Raises TauError."""
        problem = too_large(phases)
        if problem is not None:
            raise TauError(problem)
        phases = normalized(phases)
        self._log.append(CustomEntry(custom_type=USER_EDIT, data=to_builtins(_Kept(phases))))
        self._recorded = self._newest.get()
        self._set(phases)
        self._tell_of_edit()

    def change(self, ops: Sequence[TodoOp]) -> list[str]:
        """The same by operations, on the list that people see; what was wrong with some of them."""
        phases, errors = apply_ops(self.recorded, ops)
        if phases != self.recorded:
            self.edit(phases)
        return errors

    def saw(self, event: object) -> None:
        """Called with every event of the session, after everybody else and before the checkpoints."""
        match event:
            case MessageEnd(message=UserMessage()):
                self._attempt = 0
            case TurnEnd(message=message, tool_results=results):
                self._make_sure()
                if any(result.tool_name == "todo" and result.is_error for result in results):
                    remind(self._queue, "todo-error-reminder", FAILED)
                elif is_last_word(message) and not message.text.rstrip().endswith("?"):
                    self._remind()  # one that asks the user something is right to wait
            case Compacted():
                self._carry_over()
            case AgentEnd():
                withdraw(self._queue, "todo-error-reminder", "todo-reminder")

    def close(self) -> None:
        for timer in self._clearing.values():
            timer.cancel()
        self._clearing.clear()

    def _carry_over(self) -> None:
        """What stood before a compaction is not looked for any more: say it again behind it."""
        phases = self._newest.behind_stop()
        if phases:
            self._record(phases)

    def _make_sure(self) -> None:
        """A call that another call made, or that was stopped, has left no result with the list in it."""
        kept, self._kept = self._kept, None
        if kept is None:
            return
        if self._newest.get() != kept:
            self._record(kept)
        self._recorded = self._newest.get()

    def _record(self, phases: Phases) -> None:
        try:
            self._log.append(CustomEntry(custom_type=STATE, data=to_builtins(_Kept(phases))))
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
        if goes_on(self._queue) or self._quiet():
            return
        tasks = open_tasks(self.phases)
        if tasks:
            self._attempt += 1
            remind(self._queue, "todo-reminder", reminder_text(tasks, self._attempt, rules.max_reminders))
            self._emit(TodoReminder(tasks, self._attempt, rules.max_reminders))

    def _tell_of_edit(self) -> None:
        lines = [f"- [{task.status}] {task.content} ({phase.name})" for phase, task in tasks_of(self._phases)]
        text = "\n".join(["The user has changed the todo list. It is now:", *(lines or ["(empty)"])])
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
            "Go on with them. Mark those that are done, drop those that are no longer needed; "
            "if you need the user for one, say what you need.",
        ]
    )


def _phases(data: Any) -> Phases | None:
    try:
        return msgspec.convert(to_builtins(data), _Kept).phases
    except (msgspec.ValidationError, TypeError):
        return None
