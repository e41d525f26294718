"""Delivers the results of finished jobs, each once, with retries."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.ports import Artifacts
from tau.agent.queue import Queue
from tau.ai.wire import CustomMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.late import late
from tau.base.tasks import spawn
from tau.coding.output import OutputLimits, OutputSink, notice, truncate, with_notice
from tau.coding.ports import Job, JobKind, JobStatus

MESSAGE_TYPE = "job"
MIN_SHARE_BYTES = 256


class JobSnapshot(Struct, frozen=True, rename="camel", kw_only=True):
    """A job as modes see it."""

    id: str
    type: JobKind
    status: JobStatus
    label: str
    duration_ms: int
    result_text: str | UnsetType = UNSET
    error_text: str | UnsetType = UNSET


def snapshot(job: Job, *, with_texts: bool = True) -> JobSnapshot:
    result = job.result_text if with_texts else None
    error = job.error_text if with_texts else None
    return JobSnapshot(
        id=job.id,
        type=job.kind,
        status=job.status,
        label=job.label,
        duration_ms=job.duration_ms,
        result_text=UNSET if result is None else result,
        error_text=UNSET if error is None else error,
    )


def bounded(text: str, limits: OutputLimits, artifacts: Artifacts | None, *, more: str = "") -> str:
    """The beginning and end of a text with a notice; an artifact, if available, has all of it."""
    clean = text.encode("utf-8", "replace")
    if artifacts is None:
        shown = truncate(clean.decode(), limits, "ends")
    else:
        with OutputSink(artifacts, "job", limits) as sink:
            sink.push(clean)
            shown = sink.finish()
    return with_notice(shown.text, notice(shown.truncation, more=more))


def fitted(
    job: Job, limits: OutputLimits, artifacts: Artifacts | None, *, share: int = 1, more: str = ""
) -> Job:
    """The job with texts cut to 1/share of the limits."""
    size = max(limits.bytes // share, MIN_SHARE_BYTES)
    part = OutputLimits(lines=max(limits.lines // share, 4), bytes=size, columns=limits.columns)
    return replace(
        job,
        result_text=None if job.result_text is None else bounded(job.result_text, part, artifacts, more=more),
        error_text=None if job.error_text is None else bounded(job.error_text, part, artifacts, more=more),
    )


def duration_text(duration_ms: int) -> str:
    """`0.8 s`, `45 s`, `3 min`, `2 h`."""
    if duration_ms < 9_950:
        return f"{duration_ms / 1000:.1f} s"
    seconds = round(duration_ms / 1000)
    if seconds < 120:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"


def output_of(job: Job) -> str:
    """The result and error of a job, or its last progress before it was stopped."""
    output = job.progress if job.result_text is None else job.result_text
    return "\n".join(part.rstrip("\n") for part in (output, job.error_text or "") if part.strip())


def fenced(output: str, job: Job) -> str:
    """Output of a job for the model; text of strangers is marked as data."""
    return fences.fence([output], job.origin)[0] if job.origin and output else output


def delivery_text(job: Job) -> str:
    """The message to the model about a finished job."""
    head = f"Background job {job.id} {job.status} after {duration_text(job.duration_ms)}: {job.label}"
    return f"[{head}]\n{fenced(output_of(job), job) or '[No output]'}"


def put_result(queue: Queue, job: Job) -> None:
    """Queue a result; the model sees it with its next request. Raises TauError if the queue is full."""
    details = snapshot(job, with_texts=False)
    queue.aside(CustomMessage(MESSAGE_TYPE, delivery_text(job), True, now_ms(), details))


def retract_result(queue: Queue, id: str) -> None:
    """Remove a queued result, but none of an earlier run of the session."""
    for item in queue.waiting():
        match item.message:
            case CustomMessage(details=JobSnapshot(id=known)) if known == id:
                queue.settle(item.message)


fences = late("tau.coding.untrusted_text")
random = late("random")

FIRST_WAIT_MS = 500
LONGEST_WAIT_MS = 30_000
JITTER_MS = 200
MAX_DOUBLINGS = 8
LAST_TRY_S = 5  # for pending deliveries when the session ends

Deliver: TypeAlias = Callable[[Job], Awaitable[Any] | None]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


def backoff_ms(failures: int) -> int:
    """The delay after this many failures, from 1 on."""
    doubled: int = FIRST_WAIT_MS * 2 ** min(failures - 1, MAX_DOUBLINGS)
    jitter = random.randrange(JITTER_MS)
    return min(doubled, LONGEST_WAIT_MS) + jitter


class JobDelivery(Struct):
    """One delivery: `load` returns the job, `wanted` whether it is still needed, `done` records success."""

    id: str
    load: Callable[[], Job]
    wanted: Callable[[], bool]
    done: Callable[[Job], None]
    in_flight: bool = False
    task: asyncio.Task[None] | None = None
    job: Job | None = None

    async def attempt(self, deliver: Deliver) -> bool:
        """Returns whether it arrived."""
        self.in_flight = True
        try:
            if self.job is None:
                self.job = self.load()
            outcome = deliver(self.job)
            if isinstance(outcome, Awaitable):
                await outcome
        except Exception as error:
            log.warning(f"The result of the job {self.id} could not be delivered yet.", error)
            return False
        finally:
            self.in_flight = False
        self.done(self.job)
        return True


class Outbox:
    """Pending deliveries, each a task in the owner's group."""

    def __init__(self, deliver: Deliver, sleep: Sleep) -> None:
        self._deliver = deliver
        self._sleep = sleep
        self._pending: dict[str, JobDelivery] = {}
        self.burst = 0  # the most pending deliveries since it was last empty

    def __len__(self) -> int:
        return len(self._pending)

    def tasks(self) -> list[asyncio.Task[None]]:
        return [delivery.task for delivery in self._pending.values() if delivery.task is not None]

    def put(self, group: asyncio.TaskGroup, delivery: JobDelivery) -> None:
        if delivery.id in self._pending:
            return
        self._pending[delivery.id] = delivery
        self.burst = max(self.burst, len(self._pending))
        delivery.task = spawn(group, self._deliver_with_retries(delivery), name=f"deliver {delivery.id}")

    def drop(self, id: str) -> None:
        """Drop a delivery. One in flight cannot be stopped, but is not retried."""
        delivery = self._pending.get(id)
        if delivery is not None and not delivery.in_flight:
            self._remove(delivery)
            if delivery.task is not None:
                delivery.task.cancel()

    async def close(self) -> None:
        """Try once more to deliver what is pending, for a limited time."""
        pending = list(self._pending.values())
        waiting = [delivery for delivery in pending if not delivery.in_flight]
        in_flight = [
            delivery.task for delivery in pending if delivery.in_flight and delivery.task is not None
        ]
        for delivery in waiting:
            self.drop(delivery.id)
        lost = [delivery.id for delivery in waiting]
        try:
            async with asyncio.timeout(LAST_TRY_S):
                for delivery in waiting:
                    if not delivery.wanted() or await delivery.attempt(self._deliver):
                        lost.remove(delivery.id)
                if in_flight:
                    await asyncio.wait(in_flight)
        except TimeoutError:
            pass
        finally:
            for task in self.tasks():
                task.cancel()
            if lost:
                log.error(f"The session ended before these results were delivered: {', '.join(lost)}.")

    async def _deliver_with_retries(self, delivery: JobDelivery) -> None:
        failures = 0
        try:
            while delivery.wanted() and not await delivery.attempt(self._deliver):
                failures += 1
                if delivery.wanted():
                    await self._sleep(backoff_ms(failures) / 1000)
        finally:
            self._remove(delivery)

    def _remove(self, delivery: JobDelivery) -> None:
        """Remove it now, not when the task ends: the same job may be queued again before that."""
        if self._pending.get(delivery.id) is delivery:
            del self._pending[delivery.id]
        if not self._pending:
            self.burst = 0
