"""Those who are told what happens. Telling them cannot fail what happens."""

from collections.abc import Callable
from contextlib import suppress

from tau.agent.events import AgentEvent
from tau.agent.owner import EventListener
from tau.base import log


class Listeners:
    """Listeners are called in the order in which they came, at once and in the caller's task."""

    def __init__(self) -> None:
        self._listeners: list[EventListener] = []

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Be told what happens; returns the way to stop listening, which may be called twice."""
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def emit(self, event: AgentEvent) -> None:
        """Tell everybody. A listener that fails is its own problem: it goes to the log, the run goes on."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                log.error("A listener failed.", error)
