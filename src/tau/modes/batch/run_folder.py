"""The folder of a batch: its tasks, an append-only journal, the results and a folder for each task."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from tau.base.clock import iso, now_ms
from tau.base.errors import SessionError, UsageError
from tau.base.files import make_private, write_atomic
from tau.base.jsonl import JsonlFile, read_jsonl
from tau.base.version import VERSION
from tau.modes.batch.scheduler import Status
from tau.modes.batch.task import BatchTask, key_of

LOCK_S = 0.5
JOURNAL, RESULTS, TASKS, OPTIONS = "journal.jsonl", "results.jsonl", "tasks.jsonl", "batch.json"


class TaskUsage(Struct, frozen=True, rename="camel"):
    """What an attempt used of one model; `cost` in dollars."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class BatchResult(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a task ended. Files are named relative to the folder of the batch."""

    id: str
    attempt: int
    status: Status
    answer: str = ""
    output: Any = None  # the answer of a task with a schema
    patch: str = ""
    base_commit: str = ""
    usage: dict[str, TaskUsage] = {}
    cost: float = 0.0
    turns: int = 0
    started_at: str = ""
    duration_ms: int = 0
    worker: str = ""
    session: str = ""
    check_exit: int | None = None
    reward: float | None = None  # of a check that gives one
    collected: list[str] = []
    workspace: str = ""
    error: str = ""

    @property
    def tokens(self) -> int:
        return sum(usage.tokens for usage in self.usage.values())


class StartRecord(Struct, frozen=True, tag_field="type", tag="started"):
    """A lease: only the result that carries the same fence counts."""

    task: str
    attempt: int
    fence: int
    worker: str
    at: str


class EndRecord(Struct, frozen=True, tag_field="type", tag="ended"):
    """An attempt that is tried again, or was not one (`counts`)."""

    task: str
    fence: int
    reason: str
    counts: bool
    cost: float = 0.0


class ResultRecord(Struct, frozen=True, tag_field="type", tag="result"):
    task: str
    fence: int
    result: BatchResult


class DropRecord(Struct, frozen=True, tag_field="type", tag="dropped"):
    """A result that came after its lease was lost."""

    task: str
    fence: int
    status: str


class DeliveryRecord(Struct, frozen=True, tag_field="type", tag="delivery"):
    """What others can see: first what will be done, then with `done` what was."""

    task: str
    kind: str
    target: str
    done: bool = False


class RetryRecord(Struct, frozen=True, tag_field="type", tag="retried"):
    """These results do not count anymore: the tasks run again."""

    tasks: list[str]


Record: TypeAlias = StartRecord | EndRecord | ResultRecord | DropRecord | DeliveryRecord | RetryRecord


class BatchState(Struct):
    """What the journal says."""

    results: dict[str, BatchResult] = {}
    attempts: dict[str, int] = {}
    open: dict[str, StartRecord] = {}
    deliveries: dict[str, DeliveryRecord] = {}
    fence: int = 0
    spent: float = 0.0

    def apply(self, record: Record) -> None:
        match record:
            case StartRecord():
                self.open[record.task] = record
                self.attempts[record.task] = record.attempt
                self.fence = max(self.fence, record.fence)
            case EndRecord():
                self.open.pop(record.task, None)
                self.spent += record.cost
                if not record.counts:
                    self.attempts[record.task] = self.attempts.get(record.task, 1) - 1
            case ResultRecord():
                self.open.pop(record.task, None)
                self.results[record.task] = record.result
                self.spent += record.result.cost
            case DeliveryRecord():
                self.deliveries[record.task] = record
            case RetryRecord():
                for key in record.tasks:
                    self.results.pop(key, None)
                    self.attempts.pop(key, None)
                    self.deliveries.pop(key, None)
            case DropRecord():
                pass


class RunFolder:
    """Only the coordinator writes; others read what is on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute()
        self.state = BatchState()
        self._journal = JsonlFile(path / JOURNAL)
        self._results = JsonlFile(path / RESULTS)

    @classmethod
    def create(cls, path: Path, tasks: Iterable[BatchTask], options: dict[str, Any]) -> "RunFolder":
        """Raises UsageError if the folder holds something else."""
        if path.exists() and any(path.iterdir()):
            raise UsageError(f'The folder "{path}" is not empty; choose another with --out.')
        make_private(path)
        lines = b"".join(msgspec.json.encode(task) + b"\n" for task in tasks)
        write_atomic(path / TASKS, lines)
        head = {"version": 1, "tau": VERSION, "created": iso(now_ms()), **options}
        write_atomic(path / OPTIONS, msgspec.json.format(msgspec.json.encode(head), indent=2) + b"\n")
        return cls(path)

    @property
    def exists(self) -> bool:
        return (self.path / OPTIONS).is_file()

    def options(self) -> dict[str, Any]:
        """What the batch was started with. Raises UsageError."""
        try:
            return msgspec.json.decode((self.path / OPTIONS).read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            raise UsageError(f'"{self.path}" is not the folder of a batch.') from None
        except (OSError, msgspec.MsgspecError) as error:
            raise SessionError(f"{self.path / OPTIONS} cannot be read: {error}.") from None

    def tasks(self) -> dict[str, BatchTask]:
        try:
            lines = read_jsonl(self.path / TASKS).lines
            return {
                key_of(task): task for task in (msgspec.json.decode(line, type=BatchTask) for line in lines)
            }
        except (OSError, msgspec.MsgspecError) as error:
            raise SessionError(f"{self.path / TASKS} cannot be read: {error}.") from None

    def lock(self) -> None:
        """Become the coordinator and complete what a crash cut off. Raises UsageError."""
        end = time.monotonic() + LOCK_S
        while not (locked := self._journal.lock()) and time.monotonic() < end:
            time.sleep(0.02)  # a command that a killed coordinator was starting has it for a moment
        if not locked:
            raise UsageError(f'Another tau runs the batch in "{self.path}"; see tau batch status.')
        self.read()
        if self._recorded() != list(self.state.results):
            self.rewrite_results()

    def read(self) -> None:
        """Replay the journal."""
        self.state = BatchState()
        try:
            lines = read_jsonl(self.path / JOURNAL).lines
        except FileNotFoundError:
            return
        decode = msgspec.json.Decoder(Record).decode
        for line in lines:
            try:
                self.state.apply(decode(line))
            except msgspec.ValidationError as error:
                raise SessionError(f"{self.path / JOURNAL} has a line of another version: {error}.") from None

    def write(self, record: Record) -> None:
        """Record, on disk before it returns. A result is also a line of the results."""
        self._journal.append(msgspec.json.encode(record), sync=not isinstance(record, StartRecord))
        self.state.apply(record)
        if isinstance(record, ResultRecord):
            self._results.append(msgspec.json.encode(record.result), sync=False)

    def rewrite_results(self) -> None:
        """After a retry: the file has the current results only."""
        self._results.close()
        lines = b"".join(msgspec.json.encode(result) + b"\n" for result in self.state.results.values())
        write_atomic(self.path / RESULTS, lines)

    def close(self) -> None:
        self._journal.close()
        self._results.close()

    def _recorded(self) -> list[str] | None:
        """The ids in the file of results; None without one."""
        try:
            lines = read_jsonl(self.path / RESULTS).lines
        except FileNotFoundError:
            return None
        return [msgspec.json.decode(line, type=_Id).id for line in lines]


class _Id(Struct):
    id: str
