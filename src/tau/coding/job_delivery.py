"""Delivers what ended jobs have to say: each once, again after a while where that fails."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from tau.base import log
from tau.base.late import late
from tau.base.tasks import spawn
from tau.coding.ports import Job

random = late("random")

FIRST_WAIT_MS = 500
LONGEST_WAIT_MS = 30_000
JITTER_MS = 200
MAX_DOUBLINGS = 8
LAST_TRY_S = 5  # for what is still to be delivered when the session ends

Deliver: TypeAlias = Callable[[Job], Awaitable[Any] | None]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


def backoff_ms(failures: int) -> int:
    """How long to wait after so many failures, from 1 on."""
    doubled: int = FIRST_WAIT_MS * 2 ** min(failures - 1, MAX_DOUBLINGS)
    jitter: int = random.randrange(JITTER_MS)
    return min(doubled, LONGEST_WAIT_MS) + jitter


class JobDelivery:
    """One delivery: `pack` gives the job as it is told, `wanted` whether it still is, `done` notes it."""

    def __init__(
        self, id: str, pack: Callable[[], Job], wanted: Callable[[], bool], done: Callable[[Job], None]
    ) -> None:
        self.id = id
        self.wanted = wanted
        self.in_flight = False
        self.task: asyncio.Task[None] | None = None
        self._pack = pack
        self._done = done
        self._packed: Job | None = None

    async def attempt(self, deliver: Deliver) -> bool:
        """Whether it has arrived."""
        self.in_flight = True
        try:
            if self._packed is None:
                self._packed = self._pack()
            outcome = deliver(self._packed)
            if isinstance(outcome, Awaitable):
                await outcome
        except Exception as error:
            log.warning(f"The result of the job {self.id} could not be delivered yet.", error)
            return False
        finally:
            self.in_flight = False
        self._done(self._packed)
        return True


class Outbox:
    """Parcels that are to be delivered, each with a task of its own in the group of its owner."""

    def __init__(self, deliver: Deliver, sleep: Sleep) -> None:
        self._deliver = deliver
        self._sleep = sleep
        self._parcels: dict[str, JobDelivery] = {}
        self.burst = 0  # the most parcels that waited together since there was none

    def __len__(self) -> int:
        return len(self._parcels)

    def tasks(self) -> list[asyncio.Task[None]]:
        return [parcel.task for parcel in self._parcels.values() if parcel.task is not None]

    def put(self, group: asyncio.TaskGroup, parcel: JobDelivery) -> None:
        if parcel.id in self._parcels:
            return
        self._parcels[parcel.id] = parcel
        self.burst = max(self.burst, len(self._parcels))
        parcel.task = spawn(group, self._carry(parcel), name=f"deliver {parcel.id}")

    def drop(self, id: str) -> None:
        """Nobody wants it any more. One that is under way cannot be stopped, but is not tried again."""
        parcel = self._parcels.get(id)
        if parcel is not None and not parcel.in_flight:
            self._remove(parcel)
            if parcel.task is not None:
                parcel.task.cancel()

    async def close(self) -> None:
        """Try once more to deliver what waits, for a bounded time."""
        left = list(self._parcels.values())
        waiting = [parcel for parcel in left if not parcel.in_flight]
        flying = [parcel.task for parcel in left if parcel.in_flight and parcel.task is not None]
        for parcel in waiting:
            self.drop(parcel.id)
        lost = [parcel.id for parcel in waiting]
        try:
            async with asyncio.timeout(LAST_TRY_S):
                for parcel in waiting:
                    if not parcel.wanted() or await parcel.attempt(self._deliver):
                        lost.remove(parcel.id)
                if flying:
                    await asyncio.wait(flying)
        except TimeoutError:
            pass
        finally:
            for task in self.tasks():
                task.cancel()
            if lost:
                log.error(f"The session has ended before these results were delivered: {', '.join(lost)}.")

    async def _carry(self, parcel: JobDelivery) -> None:
        failures = 0
        try:
            while parcel.wanted() and not await parcel.attempt(self._deliver):
                failures += 1
                if parcel.wanted():
                    await self._sleep(backoff_ms(failures) / 1000)
        finally:
            self._remove(parcel)

    def _remove(self, parcel: JobDelivery) -> None:
        """At once, not when the task has ended: the same job may have to be put in again before that."""
        if self._parcels.get(parcel.id) is parcel:
            del self._parcels[parcel.id]
        if not self._parcels:
            self.burst = 0
