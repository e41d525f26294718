"""job: waits for, stops or lists background jobs."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.output import OutputLimits, truncate
from tau.coding.ports import CancelStatus, CodingContext, Job, Jobs

delivery = late("tau.coding.jobs.delivery")

UPDATE_INTERVAL_S = 0.5
SHOWN_IDS = 10
# Values of async.pollWaitDuration, in seconds.
POLL_WAITS_S: Mapping[str, int] = MappingProxyType({"5s": 5, "10s": 10, "30s": 30, "1m": 60, "5m": 300})
RESULTS = OutputLimits()
LISTED = OutputLimits(lines=200, bytes=8 * KIB)
PROGRESS = OutputLimits(lines=100, bytes=8 * KIB)


class JobParams(Struct, frozen=True):
    poll: Annotated[list[str] | None, Meta(title="Ids of jobs; waits until the first one ends")] = None
    cancel: Annotated[list[str] | None, Meta(title="Ids of jobs to stop")] = None
    list_all: Annotated[bool, Meta(title="Show all jobs now, without waiting")] = field(
        name="list", default=False
    )


class CancelOutcome(Struct, frozen=True, rename="camel"):
    id: str
    status: CancelStatus


class JobDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`cancelled` is set if the call cancelled jobs."""

    jobs: "list[delivery.JobSnapshot]"
    cancelled: list[CancelOutcome] | UnsetType = UNSET


class JobTool(Tool[JobParams]):
    """`wait_s` is the longest wait of a poll."""

    name, label = "job", "Jobs"

    def __init__(self, wait_s: int = POLL_WAITS_S["30s"]) -> None:
        self._wait_s = wait_s

    @cached_property
    def description(self) -> str:
        return super().description.replace("{{seconds}}", str(self._wait_s))

    async def run(self, params: JobParams, ctx: CodingContext) -> ToolOutput:
        if params.list_all and (params.poll or params.cancel):
            raise ToolError("`list` cannot be combined with `poll` or `cancel`.")
        jobs = ctx.jobs
        if params.list_all:
            return _list_jobs(jobs)
        cancelled = [CancelOutcome(id, jobs.cancel(id)) for id in dict.fromkeys(params.cancel or ())]
        polled = _polled(params, jobs)
        ids = list(dict.fromkeys([*(outcome.id for outcome in cancelled), *polled]))
        if not any(jobs.get(id) for id in ids) and not cancelled:
            return ToolOutput.text(_nothing(params.poll or ()), JobDetails(jobs=[]))
        with jobs.watching(ids):
            stopped = await self._wait(polled, ids, cancelled, ctx)
            return _report(ids, cancelled, ctx, stopped=stopped)

    async def _wait(
        self, polled: Iterable[str], ids: Sequence[str], cancelled: list[CancelOutcome], ctx: CodingContext
    ) -> bool:
        """Wait until a running job ends or the time is up. True if the user interrupted.

        The jobs outlive this call, so an interrupt returns the results so far instead of dropping them. The
        cancellation is requested again here and takes effect at the next await, where the loop
        distinguishes a user's stop from the end of the program.
        """
        running = [id for id in polled if (job := ctx.jobs.get(id)) is not None and job.running]
        if not running:
            return False
        until_s = time.monotonic() + self._wait_s
        try:
            while True:
                known = [job for id in ids if (job := ctx.jobs.get(id)) is not None]
                ctx.update(ToolOutput.text("", _details(known, cancelled, with_texts=False)))
                left_s = until_s - time.monotonic()
                if left_s <= 0 or await ctx.jobs.wait(running, min(UPDATE_INTERVAL_S, left_s)):
                    return False
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            task.cancel()
            return True


def _polled(params: JobParams, jobs: Jobs) -> list[str]:
    """The ids to wait for: the named ones, or all running jobs if the call names none."""
    if params.poll:
        return list(dict.fromkeys(params.poll))
    return [] if params.cancel else [job.id for job in jobs.list() if job.running]


def _nothing(named: Sequence[str]) -> str:
    if not named:
        return "No background job is running."
    ids = ", ".join(named[:SHOWN_IDS]) + (", …" if len(named) > SHOWN_IDS else "")
    return f'No job matches "{ids}"; finished jobs are forgotten after some minutes.'


def _list_jobs(jobs: Jobs) -> ToolOutput:
    """Listing does not acknowledge: pending results are still delivered."""
    all_jobs = list(jobs.list())
    if not all_jobs:
        return ToolOutput.text("There are no background jobs.", JobDetails(jobs=[]))
    share = max(sum(not job.running for job in all_jobs), 1)
    shown = [delivery.fitted(job, LISTED, None, share=share, more="poll it for the rest") for job in all_jobs]
    return ToolOutput.text("\n\n".join(_sections(shown)), _details(shown, []))


def _report(
    ids: Sequence[str], cancelled: list[CancelOutcome], ctx: CodingContext, *, stopped: bool
) -> ToolOutput:
    """The results of the jobs, which are then not delivered again.

    After an interrupt this result may be discarded, so job results are left to delivery.
    """
    known = [job for id in ids if (job := ctx.jobs.get(id)) is not None]
    ended = [job.id for job in known if not job.running]
    shown = [delivery.fitted(job, RESULTS, ctx.artifacts, share=max(len(ended), 1)) for job in known]
    sections = [_cancelled(cancelled)] if cancelled else []
    sections += _sections(shown, heads_only=stopped)
    if stopped:
        sections.append("[The user interrupted the wait; jobs continue, results will follow]")
    else:
        ctx.jobs.acknowledge(ended)
    return ToolOutput.text("\n\n".join(sections), _details(shown, cancelled))


def _details(found: Iterable[Job], cancelled: list[CancelOutcome], *, with_texts: bool = True) -> JobDetails:
    return JobDetails(
        jobs=[delivery.snapshot(job, with_texts=with_texts) for job in found],
        cancelled=cancelled or UNSET,
    )


def _cancelled(outcomes: Sequence[CancelOutcome]) -> str:
    lines = [f"- {outcome.id}: {outcome.status.replace('_', ' ')}" for outcome in outcomes]
    return "\n".join([f"## Cancelled ({len(outcomes)})", *lines])


def _sections(jobs: Sequence[Job], *, heads_only: bool = False) -> list[str]:
    ended = [job for job in jobs if not job.running]
    running = [job for job in jobs if job.status == "running"]
    queued = [job for job in jobs if job.status == "queued"]
    sections: list[str] = []
    if ended:
        parts = [
            _part(job, "" if heads_only else delivery.fenced(delivery.output_of(job), job)) for job in ended
        ]
        sections.append("\n\n".join([f"## Completed ({len(ended)})", *parts]))
    if running:
        parts = [_part(job, delivery.fenced(_progress(job, len(running)), job)) for job in running]
        sections.append("\n\n".join([f"## Still Running ({len(running)})", *parts]))
    if queued:
        sections.append("\n\n".join([f"## Queued ({len(queued)})", *(_part(job, "") for job in queued)]))
    return sections


def _part(job: Job, output: str) -> str:
    state = "" if job.running else f"{job.status}, "
    head = f"### {job.id} ({state}{delivery.duration_text(job.duration_ms)}): {job.label}"
    return f"{head}\n{output}" if output else head


def _progress(job: Job, share: int) -> str:
    """The end of a running job's output."""
    limits = OutputLimits(lines=max(PROGRESS.lines // share, 1), bytes=PROGRESS.bytes // share)
    shown = truncate(job.progress, limits, "tail")
    return (f"…\n{shown.text}" if shown.truncation else shown.text).rstrip("\n")
