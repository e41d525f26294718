"""A session's background jobs: limited in number, visible, ended with the session, delivered once."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tau.agent.ports import Artifacts
from tau.base import log
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.base.sizes import KIB
from tau.base.tasks import spawn
from tau.base.text import clean_line, plain, sentence, shortened
from tau.coding.output import OutputLimits
from tau.coding.ports import CancelStatus, Job, JobKind, JobStatus, JobWork

if TYPE_CHECKING:
    from tau.coding.jobs.delivery import Deliver, Outbox, Sleep

delivery = late("tau.coding.jobs.delivery")

MAX_RUNNING = 100
MAX_KEPT = 200  # finished jobs
MAX_UNDELIVERED = 500
RETENTION_S = 5 * 60
LABEL_CHARS = 200
PROGRESS_CHARS = 4_000
# Room for the notices of a tool that has already truncated its output; do not truncate it twice.
SLACK = OutputLimits(lines=20, bytes=2 * KIB, columns=0)
DELIVERED = OutputLimits(lines=500, bytes=16 * KIB)


class _Record(Struct, eq=False):
    """A stored job. Only `SessionJobs` changes it."""

    id: str
    kind: JobKind
    label: str
    began_s: float
    ended: asyncio.Future[None]
    status: JobStatus = "running"
    ended_s: float | None = None
    result_text: str | None = None
    error_text: str | None = None
    progress: str = ""
    watchers: int = 0
    acknowledged: bool = False
    delivered: bool = False

    @property
    def deliverable(self) -> bool:
        was_shown = self.acknowledged or self.delivered or self.watchers
        return not was_shown and self.status in ("completed", "failed")

    @property
    def open(self) -> bool:
        return self.status in ("queued", "running")

    def job(self, now_s: float, origin: str) -> Job:
        ended_s = now_s if self.ended_s is None else self.ended_s
        return Job(
            id=self.id,
            kind=self.kind,
            label=self.label,
            status=self.status,
            duration_ms=max(round((ended_s - self.began_s) * 1000), 0),
            result_text=self.result_text,
            error_text=self.error_text,
            progress=self.progress,
            origin=origin,
        )


class MovableCommands:
    """Commands that become jobs when the user says so."""

    def __init__(self) -> None:
        self._moves: list[Callable[[], None]] = []

    @contextmanager
    def movable(self, move: Callable[[], None]) -> Iterator[None]:
        self._moves.append(move)
        try:
            yield
        finally:
            self._moves.remove(move)

    def move_to_background(self) -> bool:
        moves = [*self._moves]
        for move in moves:
            move()
        return bool(moves)


class SessionJobs:
    """Use as `async with`: leaving it cancels running jobs and waits for them.

    `deliver` adds the result of a finished job to the conversation, and raises if it cannot right now;
    `retract` removes it again if it is still queued, because the model has seen it in the meantime.
    `find_origin` says where the text of jobs is from, if not from the user's workspace.
    `on_change` is called when a job starts or ends, `on_delivered` after a delivery.
    """

    def __init__(
        self,
        deliver: "Deliver | None" = None,
        *,
        retract: Callable[[str], None] | None = None,
        max_running: int = MAX_RUNNING,
        artifacts: Artifacts | None = None,
        limits: OutputLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: "Sleep" = asyncio.sleep,
    ) -> None:
        wanted = limits or OutputLimits()
        self.on_change: Callable[[Job], None] = lambda job: None
        self.on_delivered: Callable[[Job], None] = lambda job: None
        self.find_origin: Callable[[], str] = lambda: ""
        self.known_ids: Callable[[], frozenset[str]] = frozenset  # of jobs of an earlier process
        self._deliver = deliver
        self._retract = retract
        self._max_running = min(max(max_running, 1), MAX_RUNNING)
        self._artifacts = artifacts
        self._limits = OutputLimits(
            lines=wanted.lines + SLACK.lines, bytes=wanted.bytes + SLACK.bytes, columns=wanted.columns
        )
        self._clock = clock
        self._sleep = sleep
        self.group: asyncio.TaskGroup | None = None  # owns the background work
        self._outbox: Outbox | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._records: dict[str, _Record] = {}
        self.foreground = MovableCommands()
        self._count = 0
        self._closing = False

    async def __aenter__(self) -> "SessionJobs":
        self.group = asyncio.TaskGroup()
        await self.group.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        assert self.group is not None
        self._closing = True
        for record in self._records.values():
            if record.open:
                self._cancel(record)
        try:
            if self._outbox is not None:
                await self._outbox.close()
        finally:
            await self.group.__aexit__(None, None, None)
            self.group = None

    def start(
        self, kind: JobKind, label: str, work: JobWork, *, id: str | None = None, queued: bool = False
    ) -> str:
        if self.group is None or self._closing:
            raise ToolError("Background work needs an open session.")
        if id is not None and id in self._records:
            raise ToolError(f'There is a job "{id}" already.')
        # Cancelled work may take a while to end, so there can be more tasks than running jobs.
        if (
            _count_running(self._records.values()) >= self._max_running
            or len(self._tasks) >= 2 * self._max_running
        ):
            raise ToolError(
                f"{self._max_running} background jobs are already running; wait for one or cancel one."
            )
        undelivered = 0 if self._outbox is None else len(self._outbox)
        if len(self._tasks) + undelivered >= MAX_UNDELIVERED:
            raise ToolError(
                f"The results of {undelivered} background jobs are undelivered; poll some of them."
            )
        taken = self._records.keys() | self.known_ids()
        while id is None or id in taken:
            self._count += 1
            id = f"{kind}-{self._count}"
        ended = asyncio.get_running_loop().create_future()
        record = _Record(id, kind, shortened(clean_line(label), LABEL_CHARS), self._clock(), ended)
        record.status = "queued" if queued else "running"
        self._records[id] = record
        self._tasks[id] = task = spawn(self.group, self._run(record, work), name=id)
        task.add_done_callback(lambda _: self._task_ended(record))
        _notify(self.on_change, record.job(self._clock(), self.find_origin()))
        return id

    def mark_running(self, id: str) -> None:
        record = self._records.get(id)
        if record is not None and record.status == "queued":
            record.status, record.began_s = "running", self._clock()
            _notify(self.on_change, record.job(self._clock(), self.find_origin()))

    def get(self, id: str) -> Job | None:
        self._forget_old()
        record = self._records.get(id)
        return None if record is None else record.job(self._clock(), self.find_origin())

    def list(self) -> Sequence[Job]:
        self._forget_old()
        return [record.job(self._clock(), self.find_origin()) for record in self._records.values()]

    def cancel(self, id: str) -> CancelStatus:
        self._forget_old()
        record = self._records.get(id)
        if record is None:
            return "not_found"
        if not record.open:
            return "already_completed"
        self._cancel(record)
        return "cancelled"

    @contextmanager
    def watching(self, ids: Iterable[str]) -> Iterator[None]:
        watched = self._find(ids)
        for record in watched:
            record.watchers += 1
        try:
            yield
        finally:
            for record in watched:
                record.watchers -= 1
                self._send(record)

    async def wait(self, ids: Iterable[str], seconds: float) -> bool:
        records = self._find(ids)
        if not records or any(not record.open for record in records):
            return True
        ended, _ = await asyncio.wait(
            [record.ended for record in records],
            timeout=max(seconds, 0),
            return_when=asyncio.FIRST_COMPLETED,
        )
        return bool(ended)

    def acknowledge(self, ids: Iterable[str]) -> None:
        for record in self._find(ids):
            if record.open or record.acknowledged:
                continue
            record.acknowledged = True
            if self._outbox is not None:
                self._outbox.drop(record.id)
            if record.delivered and self._retract is not None:
                self._retract(record.id)

    async def quiet(self, *, running: bool = True) -> None:
        while busy := [
            *(self._tasks.values() if running else ()),
            *(self._outbox.tasks() if self._outbox else ()),
        ]:
            await asyncio.wait(busy)

    async def _run(self, record: _Record, work: JobWork) -> None:
        def report(text: str) -> None:
            record.progress = plain(text[-PROGRESS_CHARS:])

        try:
            result = await work(report)
        except TauError as error:
            self._settle(record, "failed", error_text=str(error))
        except Exception as error:
            log.error(f"The job {record.id} failed.", error)
            self._settle(record, "failed", error_text=sentence(f"{type(error).__name__}: {error}"))
        else:
            self._settle(record, "completed", result_text=result)

    def _find(self, ids: Iterable[str]) -> Sequence[_Record]:
        return [self._records[id] for id in dict.fromkeys(ids) if id in self._records]

    def _task_ended(self, record: _Record) -> None:
        del self._tasks[record.id]
        if record.open:  # cancelled from inside its own work
            self._settle(record, "failed", error_text="The job was stopped before it had a result.")

    def _cancel(self, record: _Record) -> None:
        self._end(record, "cancelled")
        self._tasks[record.id].cancel()

    def _settle(
        self,
        record: _Record,
        status: JobStatus,
        *,
        result_text: str | None = None,
        error_text: str | None = None,
    ) -> None:
        """Store the result. A cancelled job stays cancelled."""
        if result_text is not None:
            record.result_text = _limit(result_text, self._limits, self._artifacts)
        if error_text is not None:
            record.error_text = _limit(error_text, self._limits, self._artifacts)
        if record.open:
            self._end(record, status)
            self._send(record)

    def _end(self, record: _Record, status: JobStatus) -> None:
        record.status = status
        record.ended_s = self._clock()
        record.ended.set_result(None)
        self._forget_old()
        _notify(self.on_change, record.job(record.ended_s, self.find_origin()))

    def _send(self, record: _Record) -> None:
        """Deliver the result of a finished job, unless it was shown already."""
        if self._deliver is None or self.group is None or self._closing or not record.deliverable:
            return
        if self._outbox is None:
            self._outbox = delivery.Outbox(self._deliver, self._sleep)
        outbox = self._outbox

        def load() -> Job:
            share = max(outbox.burst, 1)
            return delivery.fitted(
                record.job(self._clock(), self.find_origin()), DELIVERED, self._artifacts, share=share
            )

        def done(job: Job) -> None:
            record.delivered = True
            if record.acknowledged and self._retract is not None:  # during the delivery
                self._retract(record.id)
            else:
                _notify(self.on_delivered, job)

        outbox.put(self.group, delivery.JobDelivery(record.id, load, lambda: record.deliverable, done))

    def _forget_old(self) -> None:
        """Forget jobs that ended minutes ago, and the oldest if there are too many."""
        horizon = self._clock() - RETENTION_S
        ended = sorted(
            (record.ended_s, record.id)
            for record in self._records.values()
            if record.ended_s is not None and not (record.deliverable and self._deliver is not None)
        )
        for place, (ended_s, id) in enumerate(ended):
            if ended_s <= horizon or place < len(ended) - MAX_KEPT:
                del self._records[id]


def _count_running(records: Iterable[_Record]) -> int:
    """Those that were begun; queued ones wait for others of their kind."""
    return sum(record.status == "running" for record in records)


def _limit(text: str, limits: OutputLimits, artifacts: Artifacts | None) -> str:
    """The text within limits. An error must not reach the task group, which would end all jobs."""
    try:
        return delivery.bounded(text, limits, artifacts)
    except Exception as error:
        log.error("The full result of a job could not be saved.", error)
        return delivery.bounded(str(text), limits, None)


def _notify(listener: Callable[[Job], None], job: Job) -> None:
    try:
        listener(job)
    except Exception as error:
        log.error("A listener of background jobs failed.", error)
