"""Background jobs: started, finished, cancelled, limited and forgotten."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import ToolError
from tau.base.sizes import KIB
from tau.coding.artifacts import TemporaryArtifacts
from tau.coding.jobs.session_jobs import MAX_KEPT, RETENTION_S, SessionJobs
from tau.coding.output import OutputLimits
from tau.coding.ports import Job, JobReport
from tests.coding.background import Clock, Desk, endless, failing, run, saying, settle, waiting


def test_job_has_a_readable_id_and_keeps_its_result() -> None:
    async def main() -> None:
        clock = Clock()
        async with SessionJobs(clock=clock) as jobs:
            id = jobs.start("bash", "make  all\nnow", saying("built"))
            assert id == "bash-1"
            assert jobs.list() == [
                Job(id=id, kind="bash", label="make all now", status="running", duration_ms=0)
            ]
            clock.now_s += 2.5
            await jobs.quiet()
            assert jobs.get(id) == Job(
                id=id,
                kind="bash",
                label="make all now",
                status="completed",
                duration_ms=2500,
                result_text="built",
            )
            assert jobs.start("task", "look", saying("")) == "task-2"

    run(main)


@pytest.mark.parametrize(
    ("error", "text"),
    [(ToolError("The port is taken."), "The port is taken."), (KeyError("x"), "KeyError: 'x'.")],
)
def test_job_that_raises_has_failed(error: Exception, text: str) -> None:
    async def main() -> None:
        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            other = jobs.start("bash", "other", endless)
            id = jobs.start("bash", "work", failing(error))
            await settle()
            job, still = jobs.get(id), jobs.get(other)
            assert job is not None and still is not None and still.running
            assert (job.status, job.error_text, job.result_text) == ("failed", text, None)
        assert desk.ids == [id]

    run(main)


def test_job_cancelled_from_inside_has_failed_and_says_so() -> None:
    async def main() -> None:
        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            id = jobs.start("task", "work", failing(asyncio.CancelledError()))
            await jobs.quiet()
            job = jobs.get(id)
            assert job is not None and job.status == "failed" and "stopped" in (job.error_text or "")
        assert desk.ids == [id]

    run(main)


def test_progress_is_the_tail_of_the_latest_report() -> None:
    async def main() -> None:
        async def work(report: JobReport) -> str:
            report("first")
            report("x" * 5_000 + "\x1b[31mlast")
            await asyncio.Event().wait()
            return ""

        async with SessionJobs() as jobs:
            id = jobs.start("bash", "work", work)
            await settle()
            job = jobs.get(id)
            assert job is not None and job.progress.endswith("xxxlast")
            assert len(job.progress) <= 4_000

    run(main)


def test_cancelling_takes_effect_at_once_and_keeps_late_output() -> None:
    async def main() -> None:
        async def stubborn(report: JobReport) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
            return "what there was"

        desk = Desk()
        async with SessionJobs(desk.deliver) as jobs:
            id = jobs.start("bash", "serve", stubborn)
            await settle()
            assert jobs.cancel(id) == "cancelled"
            job = jobs.get(id)
            assert job is not None and (job.status, job.result_text) == ("cancelled", None)
            assert jobs.cancel(id) == "already_completed"
            await jobs.quiet()
            job = jobs.get(id)
            assert job is not None and (job.status, job.result_text) == ("cancelled", "what there was")
            assert jobs.cancel("bash-9") == "not_found"
        assert desk.ids == []  # the one who cancelled it knows

    run(main)


def test_job_can_be_cancelled_before_its_first_step() -> None:
    async def main() -> None:
        async with SessionJobs() as jobs:
            id = jobs.start("bash", "work", failing(AssertionError("it ran")))
            assert jobs.cancel(id) == "cancelled"
            await jobs.quiet()
            job = jobs.get(id)
            assert job is not None and (job.status, job.error_text) == ("cancelled", None)

    run(main)


def test_job_is_forgotten_five_minutes_after_it_ends() -> None:
    async def main() -> None:
        clock = Clock()
        moment = asyncio.Event()
        async with SessionJobs(clock=clock) as jobs:
            id = jobs.start("bash", "work", waiting(moment))
            clock.now_s += 2 * RETENTION_S
            assert jobs.get(id) is not None  # it runs
            moment.set()
            await jobs.quiet()
            clock.now_s += RETENTION_S - 1
            assert jobs.get(id) is not None
            clock.now_s += 1
            assert jobs.get(id) is None and jobs.list() == [] and jobs.cancel(id) == "not_found"

    run(main)


def test_only_the_latest_finished_jobs_are_kept() -> None:
    async def main() -> None:
        clock = Clock()
        async with SessionJobs(clock=clock) as jobs:
            ids = []
            for _ in range(MAX_KEPT + 5):
                clock.now_s += 0.001
                ids.append(jobs.start("bash", "work", saying("")))
                await jobs.quiet()
            assert [job.id for job in jobs.list()] == ids[-MAX_KEPT:]

    run(main)


@pytest.mark.parametrize(("wanted", "cap"), [(2, 2), (0, 1), (1000, 100)])
def test_running_jobs_are_capped(wanted: int, cap: int) -> None:
    async def main() -> None:
        async with SessionJobs(max_running=wanted) as jobs:
            ids = [jobs.start("bash", "work", endless) for _ in range(cap)]
            with pytest.raises(ToolError, match=rf"^{cap} background jobs are already running"):
                jobs.start("bash", "one more", endless)
            jobs.cancel(ids[0])
            jobs.start("bash", "one more", endless)

    run(main)


def test_cancelled_work_that_does_not_end_counts_toward_the_cap() -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def stuck(report: JobReport) -> str:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return ""

        async with SessionJobs(max_running=1) as jobs:
            for _ in range(2):
                id = jobs.start("bash", "work", stuck)
                await settle()
                jobs.cancel(id)
            with pytest.raises(ToolError, match="already running"):
                jobs.start("bash", "work", stuck)
            release.set()

    run(main)


def test_jobs_need_an_open_session() -> None:
    async def main() -> None:
        jobs = SessionJobs()
        with pytest.raises(ToolError, match="needs an open session"):
            jobs.start("bash", "work", endless)
        async with jobs:
            pass
        with pytest.raises(ToolError, match="needs an open session"):
            jobs.start("bash", "work", endless)

    run(main)


def test_closing_cancels_running_jobs_and_waits_for_them() -> None:
    async def main() -> None:
        cleaned: list[str] = []
        desk = Desk()

        async def work(report: JobReport) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                cleaned.append("clean")
            return ""

        async with SessionJobs(desk.deliver) as jobs:
            ids = [jobs.start("bash", "work", work) for _ in range(20)]
            await settle()
            ids.append(jobs.start("bash", "never begun", work))
        assert cleaned == ["clean"] * 20
        assert {job.status for job in jobs.list()} == {"cancelled"} and len(jobs.list()) == len(ids)
        assert desk.ids == []

    run(main)


def test_jobs_are_closed_even_if_the_block_raises_or_is_cancelled() -> None:
    async def main() -> None:
        async def block(error: BaseException | None) -> None:
            async with SessionJobs() as jobs:
                kept.append(jobs)
                jobs.start("bash", "work", endless)
                await settle()
                if error is not None:
                    raise error
                await asyncio.Event().wait()

        kept: list[SessionJobs] = []
        with pytest.raises(KeyError):
            await block(KeyError("x"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await block(None)
        assert [job.status for jobs in kept for job in jobs.list()] == ["cancelled", "cancelled"]

    run(main)


def test_wait_ends_with_the_first_finished_job() -> None:
    async def main() -> None:
        moment = asyncio.Event()
        async with SessionJobs() as jobs:
            ids = [jobs.start("bash", "work", endless), jobs.start("bash", "work", waiting(moment))]
            assert not await jobs.wait(ids, 0.001)
            asyncio.get_running_loop().call_soon(moment.set)
            assert await jobs.wait(ids, 30)
            asyncio.get_running_loop().call_soon(jobs.cancel, ids[0])
            assert await jobs.wait(ids[:1], 30)
            assert await jobs.wait(["bash-77"], 30)

    run(main)


def test_long_result_is_cut_and_saved_as_an_artifact(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))

    async def main() -> None:
        desk = Desk()
        artifacts = TemporaryArtifacts()
        async with SessionJobs(desk.deliver, artifacts=artifacts) as jobs:
            id = jobs.start("bash", "count", saying(text))
            await jobs.quiet()
            job = jobs.get(id)
        assert job is not None and job.result_text is not None
        assert len(job.result_text) < 56 * KIB
        assert job.result_text.startswith("line 0\n") and "line 19999\n[Showing lines" in job.result_text
        assert artifacts.open("0").read_text() == text
        (reported,) = desk.jobs
        assert len(reported.result_text or "") < 17 * KIB
        assert artifacts.open("1").read_text() == job.result_text
        artifacts.close()

    run(main)


def test_result_already_cut_by_a_tool_is_not_cut_again() -> None:
    limits = OutputLimits(lines=10, bytes=100)
    text = (
        "0123456789" * 10 + "\n[Showing lines 1-5 and 90-95 of 95; full output: artifact://3]\n[Exit code 1]"
    )

    async def main() -> None:
        async with SessionJobs(limits=limits) as jobs:
            id = jobs.start("bash", "work", saying(text))
            await jobs.quiet()
            job = jobs.get(id)
            assert job is not None and job.result_text == text

    run(main)


def test_result_is_kept_when_no_artifact_can_be_made() -> None:
    class Broken:
        def create(self, tool: str, suffix: str = "log") -> Any:
            raise ValueError("broken")

        def open(self, id: str) -> Path:
            raise AssertionError

    async def main() -> None:
        async with SessionJobs(artifacts=Broken()) as jobs:
            other = jobs.start("bash", "other", endless)
            id = jobs.start("bash", "work", saying("half \ud800 of a pair\n" * 10_000))
            await settle()
            job, still = jobs.get(id), jobs.get(other)
            assert job is not None and still is not None and still.running
            assert (job.result_text or "").startswith("half ? of a pair\n")

    run(main)
