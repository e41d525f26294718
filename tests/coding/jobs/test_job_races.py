"""Polls, stopped polls, failing and slow deliveries in any order: each result is reported exactly once."""

import asyncio
import random
from contextlib import ExitStack

import pytest

from tau.base.errors import ToolError
from tau.coding.jobs.session_jobs import SessionJobs
from tests.coding.background import Desk, run, settle, waiting

JOBS = 3
STEPS = (
    *("end", "fail", "cancel", "poll", "stopped poll", "return"),
    *("tick", "refuse", "slow", "arrive", "retry"),
)


class Play:
    """Three jobs, calls that watch them, and a desk that may refuse a result or be slow.

    A poll shows and acknowledges what has ended; a stopped one shows nothing.
    """

    def __init__(self, jobs: SessionJobs, desk: Desk, retry: asyncio.Event) -> None:
        self.jobs = jobs
        self.desk = desk
        self.retry = retry
        self.results: list[asyncio.Future[str]] = [
            asyncio.get_running_loop().create_future() for _ in range(JOBS)
        ]
        self.ids = [jobs.start("bash", "work", waiting(result)) for result in self.results]
        self.polls: list[tuple[ExitStack, list[str]]] = []
        self.shown: set[str] = set()

    async def step(self, what: str, place: int) -> None:
        match what:
            case "end" | "fail":
                self.end(self.results[place], well=what == "end")
            case "cancel":
                self.jobs.cancel(self.ids[place])
            case "poll" | "stopped poll":
                stack = ExitStack()
                stack.enter_context(self.jobs.watching(self.ids[place:]))
                self.polls.append((stack, self.ids[place:] if what == "poll" else []))
            case "return" if self.polls:
                self.finish_poll(place % len(self.polls))
            case "tick":
                await settle(place + 1)
            case _:
                self.at_the_desk(what)

    def end(self, result: "asyncio.Future[str]", *, well: bool = True) -> None:
        if not result.done():
            if well:
                result.set_result("done")
            else:
                result.set_exception(ToolError("It broke."))

    def finish_poll(self, place: int) -> None:
        stack, named = self.polls.pop(place)
        with stack:
            found = [job for id in named if (job := self.jobs.get(id)) is not None]
            ended = [job.id for job in found if not job.running]
            self.shown.update(ended)
            self.jobs.acknowledge(ended)

    def at_the_desk(self, what: str) -> None:
        match what:
            case "refuse":
                self.desk.failures += 1
            case "slow":
                self.desk.slow = self.desk.slow or asyncio.Event()
            case "arrive" if self.desk.slow is not None:
                self.desk.slow.set()
                self.desk.slow = None
            case "retry":
                self.retry.set()

    async def finish(self) -> None:
        while self.polls:
            self.finish_poll(0)
        for result in self.results:
            self.end(result)
        self.desk.failures = 0
        self.at_the_desk("arrive")
        self.at_the_desk("retry")
        await self.jobs.quiet()


async def play(seed: int) -> None:
    """Play random steps of a few kinds. With all kinds in each play, one would mask another."""
    dice = random.Random(seed)
    kinds = ["end", "tick", *dice.sample(STEPS, dice.randint(2, 5))]
    desk = Desk()
    retry = asyncio.Event()

    async def sleep(seconds: float) -> None:
        await retry.wait()
        await asyncio.sleep(0)

    async with SessionJobs(desk.deliver, retract=desk.retract, sleep=sleep) as jobs:
        scene = Play(jobs, desk, retry)
        await settle(2)
        for _ in range(dice.randint(5, 30)):
            await scene.step(dice.choice(kinds), dice.randrange(JOBS))
        await scene.finish()
        for id in scene.ids:
            job = jobs.get(id)
            assert job is not None and not job.running
            reported = desk.ids.count(id) + (id in scene.shown)
            assert reported == 1 or (job.status == "cancelled" and id not in desk.ids), f"seed {seed}"


async def play_all(seeds: range) -> None:
    for seed in seeds:
        await play(seed)


def test_every_result_is_reported_exactly_once_in_any_order() -> None:
    run(lambda: play_all(range(1_000)))


@pytest.mark.soak
def test_every_result_is_reported_exactly_once_in_very_many_runs() -> None:
    run(lambda: play_all(range(1_000, 20_000)))
