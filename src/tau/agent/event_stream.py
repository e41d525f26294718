"""A run as a stream of its events: `async for event in agent.stream("...")`."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable

from tau.agent.events import AgentEvent, MessageUpdate, Notice, ToolUpdate
from tau.agent.loop import Outcome
from tau.agent.loop_owner import EventListener
from tau.base.tasks import spawn

MAX_LAG = 20_000  # events that a reader may lag before message updates are dropped


async def stream_events(
    subscribe: Callable[[EventListener], Callable[[], None]], work: Callable[[], Awaitable[Outcome]]
) -> AsyncGenerator[AgentEvent, None]:
    """Do `work` and yield its events in order; raises its error at the end.

    Leaving early cancels the work, which is then recorded as interrupted. Use `async with aclosing(...)` to
    wait for that; after a bare `break` it happens a moment later.
    """
    inbox = _Inbox()
    stop_listening = subscribe(inbox.put)
    try:
        async with asyncio.TaskGroup() as group:
            task = spawn(group, inbox.fill(work))
            try:
                while (event := await inbox.next()) is not None:
                    yield event
            except GeneratorExit:  # must not pass through the group, which would raise it as an error
                task.cancel()
                return
    finally:
        stop_listening()
    if inbox.error is not None:
        raise inbox.error


class _Inbox:
    """Buffers events between the emitter and the reader."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self._events: deque[AgentEvent] = deque()
        self._changed = asyncio.Event()
        self._done = False
        self._lagging = False

    async def fill(self, work: Callable[[], Awaitable[Outcome]]) -> None:
        """Never raises: a failing task in the group would cancel the reader's own code."""
        try:
            self.error = (await work()).error
        except Exception as error:
            self.error = error
        finally:
            self._done = True
            self._changed.set()

    def put(self, event: AgentEvent) -> None:
        if len(self._events) >= MAX_LAG and isinstance(event, MessageUpdate | ToolUpdate):
            if not self._lagging:
                self._lagging = True
                text = "The reader of these events is too slow; message updates are dropped from here on."
                self._events.append(Notice("warning", text))
            return
        self._events.append(event)
        self._changed.set()

    async def next(self) -> AgentEvent | None:
        """The next event; None when the work is done and all events are read."""
        while not self._events:
            if self._done:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft()
