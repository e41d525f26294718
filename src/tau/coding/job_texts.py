"""What is told about background jobs: within limits, in words, and as a message in the queue of a session."""

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.ports import Artifacts
from tau.agent.queue import Queue
from tau.ai.wire import CustomMessage
from tau.base.clock import now_ms
from tau.coding.output import OutputLimits, OutputSink, notice, truncate, with_notice
from tau.coding.ports import Job, JobKind, JobStatus

MESSAGE_TYPE = "job"
MIN_SHARE_BYTES = 256


class JobSnapshot(Struct, frozen=True, rename="camel", kw_only=True):
    """A job as faces see it."""

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
    """The beginning and the end of a text, and a notice; all of it is in an artifact, if there is a place."""
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
    """The job with texts that fit into 1/share of the limits."""
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


def words_of(job: Job) -> str:
    """What a job has to say: its result and its error, or the last that it reported before it was stopped."""
    said = job.progress if job.result_text is None else job.result_text
    return "\n".join(part.rstrip("\n") for part in (said, job.error_text or "") if part.strip())


def delivery_text(job: Job) -> str:
    """What the model is told about a job that has ended while it did something else."""
    head = f"Background job {job.id} {job.status} after {duration_text(job.duration_ms)}: {job.label}"
    return f"[{head}]\n{words_of(job) or '[No output]'}"


def put_result(queue: Queue, job: Job) -> None:
    """Deliver: the model is told with what comes next. Raises TauError where the queue is full."""
    details = snapshot(job, with_texts=False)
    queue.aside(CustomMessage(MESSAGE_TYPE, delivery_text(job), True, now_ms(), details))


def take_back_result(queue: Queue, id: str) -> None:
    """Undo a delivery that still waits. What an earlier life of the session left is not touched."""
    for item in queue.waiting():
        match item.message:
            case CustomMessage(details=JobSnapshot(id=known)) if known == id:
                queue.settle(item.message)
