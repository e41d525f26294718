"""Measures background jobs: the cost of one, and how fast many that end together are delivered."""

import asyncio
import time
from statistics import median

from report import Row, milliseconds

from tau.agent.queue import Queue
from tau.coding.jobs.delivery import put_result
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.ports import JobReport

JOBS = 100
ROUNDS = 20
QUICK_ROUNDS = 5


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    together = median(asyncio.run(_together()) for _ in range(rounds))
    one = median(asyncio.run(_one()) for _ in range(rounds))
    return [
        (Row("job_ms", "a job that does nothing, start to delivery", None, milliseconds), one),
        (
            Row("jobs_ms", f"{JOBS} jobs that end together, end to last delivery", None, milliseconds),
            together,
        ),
    ]


async def _together() -> float:
    queue = Queue()
    moment = asyncio.Event()

    async def work(report: JobReport) -> str:
        await moment.wait()
        return "done"

    async with SessionJobs(lambda job: put_result(queue, job)) as jobs:
        for _ in range(JOBS):
            jobs.start("bash", "work", work)
        await asyncio.sleep(0)
        started = time.perf_counter()
        moment.set()
        await jobs.quiet()
        took = time.perf_counter() - started
    if len(queue.waiting()) != JOBS:
        raise AssertionError(f"{len(queue.waiting())} of {JOBS} results were delivered")
    return took * 1000


async def _one() -> float:
    queue = Queue()

    async def work(report: JobReport) -> str:
        return "done"

    async with SessionJobs(lambda job: put_result(queue, job)) as jobs:
        jobs.start("bash", "work", work)
        await jobs.quiet()  # load the modules
        started = time.perf_counter()
        jobs.start("bash", "work", work)
        await jobs.quiet()
        return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    for row, value in measure(quick=False):
        print(f"{row.title}: {value:.3f} ms")
