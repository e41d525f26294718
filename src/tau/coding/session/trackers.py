"""What the agent keeps in mind beside the conversation: its todo list and its checkpoints."""

from collections.abc import Callable

from msgspec import Struct

from tau.agent.events import AgentEvent
from tau.agent.owner import EventListener
from tau.agent.queue import Queue
from tau.coding.session.checkpoints import SessionCheckpoints
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import Later, TodoRules, Todos, later
from tau.config.settings import Settings


def ignore(event: AgentEvent) -> None:
    """Takes events where there is no session to tell."""


class SessionCallbacks(Struct, frozen=True, kw_only=True):
    """What is asked of the session, which is made after the parts that ask."""

    emit: EventListener = ignore
    is_running: Callable[[], bool] = lambda: False
    is_planning: Callable[[], bool] = lambda: False
    later: Later = later


class SessionTrackers(Struct, frozen=True):
    """What the agent keeps in mind, as the conversation's log has it."""

    todos: Todos
    checkpoints: SessionCheckpoints
    watchers: tuple[
        EventListener, ...
    ]  # in this order: the list is recorded before a rewind moves the branch


def make_boards(
    conversation: SessionLog, queue: Queue, settings: Settings, session: SessionCallbacks
) -> SessionTrackers:
    checkpoints = SessionCheckpoints(conversation, queue, session.emit)
    reminders = settings.todo.reminders
    rules = TodoRules(
        reminders=reminders.enabled,
        max_reminders=reminders.max,
        clear_delay_s=settings.tasks.todo_clear_delay,
    )
    todos = Todos(
        conversation,
        queue,
        session.emit,
        rules,
        running=session.is_running,
        quiet=lambda: (
            session.is_planning() or (settings.checkpoint.enabled and checkpoints.active is not None)
        ),
        later=session.later,
    )
    watchers = (todos.saw, checkpoints.saw) if settings.checkpoint.enabled else (todos.saw,)
    return SessionTrackers(todos, checkpoints, watchers)
