"""Event listeners. A failing listener cannot fail the run."""

from collections.abc import Callable
from contextlib import suppress

from tau.agent.events import AgentEvent
from tau.agent.owner import EventListener
from tau.base import log


class Listeners:
    """Calls listeners in order of subscription, synchronously in the caller's task."""

    def __init__(self) -> None:
        self._listeners: list[EventListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with each event; the returned function unsubscribes it and may be called twice."""
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def emit(self, event: AgentEvent) -> None:
        """Call every listener; an error is logged and the run continues."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                log.error("A listener failed.", error)
