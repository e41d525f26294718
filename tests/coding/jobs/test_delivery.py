"""Results of finished jobs are delivered once, later if delivery fails, and not if already shown."""

import asyncio

import pytest

from tau.agent.queue import MAX_WAITING, Queue
from tau.ai.wire import UserMessage
from tau.base.errors import ToolError
from tau.coding.artifacts import TemporaryArtifacts
from tau.coding.jobs import session_jobs as jobs_module
from tau.coding.jobs.delivery import JITTER_MS, LONGEST_WAIT_MS, backoff_ms, put_result
from tau.coding.jobs.session_jobs import RETENTION_S, SessionJobs
from tau.coding.ports import Job
from tests.coding.background import Clock, Desk, run, saying, settle, waiting


def test_finished_job_is_delivered_once() -> None:
    async def main() -> None:
        desk = Desk()
        reported: list[str] = []
        changes: list[str] = []
        async with SessionJobs(desk.deliver) as jobs:
            jobs.on_delivered = lambda job: reported.append(job.id)
            jobs.on_change = lambda job: changes.append(job.status)
            id = jobs.start("bash", "work", saying("done"))
            await jobs.quiet()
            with jobs.watching([id]):
                pass
            await jobs.quiet()
        assert (desk.ids, reported, changes) == ([id], [id], ["running", "completed"])

    run(main)


def test_failing_listener_does_no_harm() -> None:
    async def main() -> None:
        def broken(job: Job) -> None:
            raise ValueError

        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            jobs.on_change = jobs.on_delivered = broken
            id = jobs.start("bash", "work", saying("done"))
            await jobs.quiet()
        assert desk.ids == [id]

    run(main)


def test_a_hundred_jobs_ending_together_are_delivered_a_hundred_times() -> None:
    async def main() -> None:
        desk = Desk()
        moment = asyncio.Event()
        artifacts = TemporaryArtifacts()
        async with SessionJobs(desk.deliver, artifacts=artifacts) as jobs:
            ids = [jobs.start("bash", "work", waiting(moment, "y" * 1000)) for _ in range(100)]
            await settle()
            moment.set()
            await jobs.quiet()
        artifacts.close()
        assert desk.ids == ids
        # Together they say no more than one alone may.
        assert sum(len(job.result_text or "") for job in desk.jobs) < 50_000

    run(main)


def test_a_hundred_deliveries_that_fail_at_first_arrive_once_each() -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 250
        clock = Clock()
        moment = asyncio.Event()
        async with SessionJobs(desk.deliver, clock=clock, sleep=clock.sleep) as jobs:
            ids = [jobs.start("bash", "work", waiting(moment)) for _ in range(100)]
            moment.set()
            await jobs.quiet()
        assert sorted(desk.ids) == sorted(ids)

    run(main)


def test_failed_delivery_is_retried_with_growing_waits() -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 12
        clock = Clock()
        async with SessionJobs(desk.deliver, clock=clock, sleep=clock.sleep) as jobs:
            id = jobs.start("bash", "work", saying("done"))
            await jobs.quiet()
        assert desk.ids == [id]
        base_ms = [500, 1000, 2000, 4000, 8000, 16_000, *[30_000] * 6]
        waits_ms = [slept * 1000 for slept in clock.slept_s]
        assert all(base <= wait < base + 200 for base, wait in zip(base_ms, waits_ms, strict=True))

    run(main)


@pytest.mark.parametrize("failures", [1, 9, 10, 100_000])
def test_backoff_is_bounded(failures: int) -> None:
    assert 500 <= backoff_ms(failures) < LONGEST_WAIT_MS + JITTER_MS


def test_result_is_delivered_even_if_the_job_is_forgotten() -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 20
        clock = Clock()
        async with SessionJobs(desk.deliver, clock=clock, sleep=clock.sleep) as jobs:
            id = jobs.start("bash", "work", saying("done"))
            await jobs.quiet()
            assert sum(clock.slept_s) > RETENTION_S and jobs.get(id) is None
        assert desk.ids == [id]

    run(main)


def test_acknowledged_results_leave_the_deliveries() -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 1000
        async with SessionJobs(desk.deliver) as jobs:
            first, second = (jobs.start("bash", "work", saying("done")) for _ in range(2))
            await settle()
            jobs.acknowledge([first, first, "bash-77"])
            await settle()
            desk.failures = 0
        assert desk.ids == [second]  # tried once more at the end

    run(main)


def test_results_undelivered_for_too_long_block_new_jobs() -> None:
    async def main() -> None:
        desk = Desk()
        desk.failures = 10_000
        async with SessionJobs(desk.deliver) as jobs:
            for _ in range(jobs_module.MAX_UNDELIVERED):
                jobs.start("bash", "work", saying("done"))
                await settle(3)
            with pytest.raises(ToolError, match="background jobs are undelivered"):
                jobs.start("bash", "work", saying("done"))
            desk.failures = 0
        assert len(desk.ids) == jobs_module.MAX_UNDELIVERED

    run(main)


def test_job_ending_just_before_the_session_is_delivered() -> None:
    async def main() -> None:
        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            id = jobs.start("bash", "work", saying("done"))
            await asyncio.sleep(0)
            assert desk.ids == [] and jobs.list()[0].status == "completed"
        assert desk.ids == [id]

    run(main)


def test_closing_waits_for_a_delivery_in_progress() -> None:
    async def main() -> None:
        desk = Desk()
        desk.slow = asyncio.Event()
        async with SessionJobs(desk.deliver) as jobs:
            id = jobs.start("bash", "work", saying("done"))
            await settle()
            asyncio.get_running_loop().call_later(0.01, desk.slow.set)
        assert desk.ids == [id]

    run(main)


def test_hanging_delivery_does_not_block_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.coding.jobs.delivery.LAST_TRY_S", 0.01)

    async def main() -> None:
        desk = Desk()
        desk.slow = asyncio.Event()
        async with SessionJobs(desk.deliver) as jobs:
            jobs.start("bash", "under way", saying("done"))
            await settle()
            jobs.start("bash", "not begun", saying("done"))
            await asyncio.sleep(0)
        assert desk.ids == []

    run(main)


def test_watched_job_is_not_delivered_while_watched() -> None:
    async def main() -> None:
        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            shown = jobs.start("bash", "shown", saying("done"))
            left = jobs.start("bash", "left", saying("done"))
            with jobs.watching([shown, left, "bash-77"]), jobs.watching([shown]):
                await settle()
                assert jobs.list()[0].status == "completed" and desk.ids == []
                jobs.acknowledge([shown])
            await jobs.quiet()
            assert desk.ids == [left]

    run(main)


def test_acknowledging_a_running_job_has_no_effect() -> None:
    async def main() -> None:
        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            id = jobs.start("bash", "work", saying("done"))
            jobs.acknowledge([id])
            await jobs.quiet()
        assert desk.ids == [id]

    run(main)


@pytest.mark.parametrize("fails", [False, True])
def test_result_acknowledged_during_delivery_is_reported_once(fails: bool) -> None:
    async def main() -> None:
        desk = Desk()
        desk.slow = asyncio.Event()
        async with SessionJobs(desk.deliver, retract=desk.retract) as jobs:
            id = jobs.start("bash", "work", saying("done"))
            await settle()
            jobs.acknowledge([id])
            desk.failures = int(fails)
            desk.slow.set()
            await jobs.quiet()
        assert desk.ids == []
        assert desk.retracted == ([] if fails else [id])

    run(main)


def test_full_queue_takes_the_result_later() -> None:
    async def main() -> None:
        queue = Queue()
        for number in range(MAX_WAITING):
            queue.follow_up(UserMessage(str(number), number + 1))
        clock = Clock()

        async def sleep(seconds: float) -> None:
            queue.clear()
            await clock.sleep(seconds)

        async with SessionJobs(lambda job: put_result(queue, job), clock=clock, sleep=sleep) as jobs:
            jobs.start("bash", "work", saying("done"))
            await jobs.quiet()
        assert [item.kind for item in queue.waiting()] == ["aside"]

    run(main)
