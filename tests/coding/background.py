"""Background work, a place where its results arrive, and a movable clock."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from tau.base.errors import TauError
from tau.coding.ports import Job, JobReport, JobWork
from tests.support.limits import HANG_S


class Desk:
    """Receives results; fails as often as told and can be slow."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.failures = 0
        self.retracted: list[str] = []
        self.slow: asyncio.Event | None = None

    def deliver(self, job: Job) -> Awaitable[None] | None:
        if self.failures:
            self.failures -= 1
            raise TauError("The desk is closed.")
        if self.slow is not None:
            return self._slowly(job, self.slow)
        self.jobs.append(job)
        return None

    async def _slowly(self, job: Job, moment: asyncio.Event) -> None:
        await moment.wait()
        self.deliver_now(job)

    def deliver_now(self, job: Job) -> None:
        if self.failures:
            self.failures -= 1
            raise TauError("The desk is closed.")
        self.jobs.append(job)

    def retract(self, id: str) -> None:
        self.retracted.append(id)
        self.jobs = [job for job in self.jobs if job.id != id]

    @property
    def ids(self) -> list[str]:
        return [job.id for job in self.jobs]


class Clock:
    """A frozen clock, and a sleep that advances it."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.slept_s: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds
        await asyncio.sleep(0)


def saying(text: str) -> JobWork:
    async def work(report: JobReport) -> str:
        return text

    return work


def failing(error: BaseException) -> JobWork:
    async def work(report: JobReport) -> str:
        raise error

    return work


def waiting(moment: "asyncio.Event | asyncio.Future[str]", text: str = "done") -> JobWork:
    async def work(report: JobReport) -> str:
        if isinstance(moment, asyncio.Event):
            await moment.wait()
            return text
        return await moment

    return work


async def endless(report: JobReport) -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def settle(rounds: int = 10) -> None:
    """Let everything run that is ready to run."""
    for _ in range(rounds):
        await asyncio.sleep(0)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def guarded() -> None:
        async with asyncio.timeout(HANG_S):
            await main()

    asyncio.run(guarded())
