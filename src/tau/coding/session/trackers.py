"""What the agent tracks besides the conversation: its todo list and its checkpoints."""

from typing import TYPE_CHECKING

from msgspec import Struct

from tau.agent.event_bus import EventBus
from tau.agent.queue import Queue
from tau.coding.session.activities import Activities
from tau.coding.session.checkpoints import SessionCheckpoints
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import Later, TodoRules, Todos, call_later
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.plan.mode import PlanMode


class SessionTrackers(Struct, frozen=True):
    """The todo list and the checkpoints, as recorded in the log."""

    todos: Todos
    checkpoints: SessionCheckpoints


def make_trackers(
    log: SessionLog,
    queue: Queue,
    settings: Settings,
    events: EventBus,
    activities: Activities,
    plan: "PlanMode",
    *,
    later: Later = call_later,
) -> SessionTrackers:
    checkpoints = SessionCheckpoints(log, queue, events.emit)
    reminders = settings.todo.reminders
    rules = TodoRules(
        reminders=reminders.enabled,
        max_reminders=reminders.max,
        clear_delay_s=settings.tasks.todo_clear_delay,
    )
    todos = Todos(
        log,
        queue,
        events.emit,
        rules,
        running=lambda: activities.running,
        quiet=lambda: plan.on or (settings.checkpoint.enabled and checkpoints.active is not None),
        later=later,
    )
    events.watch(todos.saw)
    if settings.checkpoint.enabled:
        events.watch(checkpoints.saw)  # after the list, which is recorded before a rewind moves the branch
    return SessionTrackers(todos, checkpoints)
