"""Delivers a session's events to its subscribers, then to the parts that track the conversation."""

from collections.abc import Callable

from tau.agent.events import AgentEvent, MessageUpdate
from tau.agent.listeners import Listeners
from tau.agent.owner import EventListener


class EventBus:
    """Watchers see each event after all subscribers have, except for streamed updates."""

    def __init__(self) -> None:
        self._subscribers = Listeners()
        self._watchers: list[EventListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with each event; the returned function unsubscribes it."""
        return self._subscribers.subscribe(listener)

    def watch(self, watcher: EventListener) -> None:
        """Call `watcher` last. Unlike a subscriber's, its errors reach the caller of `emit`."""
        self._watchers.append(watcher)

    def emit(self, event: AgentEvent) -> None:
        self._subscribers.emit(event)
        if isinstance(event, MessageUpdate):
            return
        for watcher in self._watchers:
            watcher(event)
