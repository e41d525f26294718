"""What the agent tracks besides the conversation: its todo list and its checkpoints."""

from collections.abc import Callable

from msgspec import Struct

from tau.agent.events import AgentEvent
from tau.agent.owner import EventListener
from tau.agent.queue import Queue
from tau.coding.session.checkpoints import SessionCheckpoints
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import TodoRules, Todos
from tau.config.settings import Settings


class SessionTrackers(Struct, frozen=True):
    """The todo list and the checkpoints, as recorded in the log."""

    todos: Todos
    checkpoints: SessionCheckpoints
    watchers: tuple[EventListener, ...]  # in order: the list is recorded before a rewind moves the branch


def make_trackers(
    log: SessionLog,
    queue: Queue,
    settings: Settings,
    emit: Callable[[AgentEvent], None],
    *,
    running: Callable[[], bool],
    planning: Callable[[], bool],
) -> SessionTrackers:
    checkpoints = SessionCheckpoints(log, queue, emit)
    reminders = settings.todo.reminders
    rules = TodoRules(
        reminders=reminders.enabled,
        max_reminders=reminders.max,
        clear_delay_s=settings.tasks.todo_clear_delay,
    )
    todos = Todos(
        log,
        queue,
        emit,
        rules,
        running=running,
        quiet=lambda: planning() or (settings.checkpoint.enabled and checkpoints.active is not None),
    )
    watchers = (todos.saw, checkpoints.saw) if settings.checkpoint.enabled else (todos.saw,)
    return SessionTrackers(todos, checkpoints, watchers)
