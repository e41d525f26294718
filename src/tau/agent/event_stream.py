"""A run as a stream of its events: `async for event in agent.stream("...")`."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable

from tau.agent.events import AgentEvent, MessageUpdate, Notice, ToolUpdate
from tau.agent.loop import Outcome
from tau.agent.owner import EventListener
from tau.base.tasks import spawn

MAX_BEHIND = 20_000  # events that a reader may lag before it gets no more pieces


async def events_of(
    subscribe: Callable[[EventListener], Callable[[], None]], work: Callable[[], Awaitable[Outcome]]
) -> AsyncGenerator[AgentEvent, None]:
    """Do `work` and yield what is told meanwhile, in order; the error that it ends with is raised at the end.

    A reader who leaves early cancels the work, which is then recorded as interrupted. Leaving is sure to wait
    for that with `async with aclosing(...)`; after a bare `break` it happens a moment later.
    """
    inbox = _Inbox()
    stop_listening = subscribe(inbox.put)
    try:
        async with asyncio.TaskGroup() as group:
            working = spawn(group, inbox.fill(work))
            try:
                while (event := await inbox.next()) is not None:
                    yield event
            except GeneratorExit:  # must not pass through the group, which would make an error of it
                working.cancel()
                return
    finally:
        stop_listening()
    if inbox.error is not None:
        raise inbox.error


class _Inbox:
    """Events between the one who tells them and the one who reads them, each at their own pace."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self._events: deque[AgentEvent] = deque()
        self._news = asyncio.Event()
        self._done = False
        self._behind = False

    async def fill(self, work: Callable[[], Awaitable[Outcome]]) -> None:
        """It never raises by itself: a failing task of the group would cancel the reader in its own code."""
        try:
            self.error = (await work()).error
        except Exception as error:
            self.error = error
        finally:
            self._done = True
            self._news.set()

    def put(self, event: AgentEvent) -> None:
        if len(self._events) >= MAX_BEHIND and isinstance(event, MessageUpdate | ToolUpdate):
            if not self._behind:
                self._behind = True
                text = (
                    "The reader of these events is far behind; pieces of messages are left out from here on."
                )
                self._events.append(Notice("warning", text))
            return
        self._events.append(event)
        self._news.set()

    async def next(self) -> AgentEvent | None:
        """The next event; None when the work is done and all is read."""
        while not self._events:
            if self._done:
                return None
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()
