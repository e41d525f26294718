"""How many agents work at the same time."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.coding.task.subagent import Subagent


COLLECT_AFTER = 32


class Slots:
    """Bounds how many agents work at the same time; one that waits for its own agents lends its slot."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most) if most else None
        self._holding: set[str] = set()
        self._turn = asyncio.Lock()
        self._closed = 0

    def note_closed(self) -> None:
        """Collect closed sessions, which are cyclic, a few at a time: hundreds would hold the event loop."""
        self._closed += 1
        if self._closed % COLLECT_AFTER == 0:
            gc.collect()
        if self._closed == COLLECT_AFTER:
            gc.freeze()  # modules were imported for the first agents; later collections skip them

    async def turn(self) -> None:
        """Let agents write to disk one after the other, so that many do not hold the event loop at once."""
        async with self._turn:
            await asyncio.sleep(0)

    @asynccontextmanager
    async def hold(self, agent: "Subagent") -> AsyncIterator[None]:
        await self._take(agent.id)
        try:
            yield
        finally:
            self._give(agent.id)

    @asynccontextmanager
    async def lent(self, agent: "Subagent | None") -> AsyncIterator[None]:
        if agent is None or agent.id not in self._holding:
            yield
            return
        self._give(agent.id)
        try:
            yield
        finally:
            await self._take(agent.id)

    async def _take(self, id: str) -> None:
        if self._free is not None:
            await self._free.acquire()
        self._holding.add(id)

    def _give(self, id: str) -> None:
        if id in self._holding:
            self._holding.discard(id)
            if self._free is not None:
                self._free.release()
