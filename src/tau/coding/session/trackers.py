"""What the agent keeps in mind beside the conversation: its todo list and its checkpoints."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.agent.events import AgentEvent
from tau.agent.owner import EventListener
from tau.agent.queue import Queue
from tau.coding.session.checkpoints import SessionCheckpoints
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import TodoRules, Todos
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.session.session import Session


class SessionTrackers(Struct, frozen=True):
    """What the agent keeps in mind, as the conversation's log has it."""

    todos: Todos
    checkpoints: SessionCheckpoints
    watchers: tuple[
        EventListener, ...
    ]  # in this order: the list is recorded before a rewind moves the branch


def make_boards(
    conversation: SessionLog, queue: Queue, settings: Settings, session: Callable[[], "Session"]
) -> SessionTrackers:
    """`session` gives the one that these are made for, once it is there."""

    def emit(event: AgentEvent) -> None:
        session().emit(event)

    checkpoints = SessionCheckpoints(conversation, queue, emit)
    reminders = settings.todo.reminders
    rules = TodoRules(
        reminders=reminders.enabled,
        max_reminders=reminders.max,
        clear_delay_s=settings.tasks.todo_clear_delay,
    )
    todos = Todos(
        conversation,
        queue,
        emit,
        rules,
        running=lambda: session().activities.running,
        quiet=lambda: session().plan.on or (settings.checkpoint.enabled and checkpoints.active is not None),
    )
    watchers = (todos.saw, checkpoints.saw) if settings.checkpoint.enabled else (todos.saw,)
    return SessionTrackers(todos, checkpoints, watchers)
