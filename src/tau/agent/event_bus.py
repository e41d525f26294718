"""Delivers events to subscribers and watchers. A failing subscriber cannot fail the run."""

from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from tau.agent.events import AgentEvent, MessageUpdate
from tau.agent.loop_owner import EventListener
from tau.ai.stream_events import ToolCallStart
from tau.base import log


class EventBus(Struct):
    """Calls subscribers in order, synchronously in the caller's task, then the watchers.

    Watchers, the parts that track the conversation, see only those streamed updates that start a tool call.
    """

    _subscribers: list[EventListener] = []
    _watchers: list[EventListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with each event; the returned function unsubscribes it and may be called twice."""
        self._subscribers.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._subscribers.remove(listener)

        return stop

    def watch(self, watcher: EventListener) -> None:
        """Call `watcher` last. Unlike a subscriber's, its errors reach the caller of `emit`."""
        self._watchers.append(watcher)

    def emit(self, event: AgentEvent) -> None:
        """Call every subscriber, logging its errors, then every watcher."""
        for listener in tuple(self._subscribers):
            try:
                listener(event)
            except Exception as error:
                log.error("A listener failed.", error)
        if isinstance(event, MessageUpdate) and not isinstance(event.assistant_message_event, ToolCallStart):
            return
        for watcher in self._watchers:
            watcher(event)
