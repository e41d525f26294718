"""Runs a batch to its end: starts attempts, records results once, and stops at limits and on request."""

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tau.base import log
from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.tasks import spawn
from tau.modes.batch import run_folder
from tau.modes.batch.executor import Executor, Lease, Progress, Requeue
from tau.modes.batch.limiter import Limiter, RateLimits
from tau.modes.batch.run_folder import BatchResult, RunFolder
from tau.modes.batch.scheduler import Scheduler, TaskPlan, TaskStart
from tau.modes.batch.task import BatchTask
from tau.modes.exit_status import DONE, FAILED, INTERRUPTED, TRY_LATER

if TYPE_CHECKING:
    from tau.modes.batch.delivery import Deliveries

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
MAX_REFUSALS = 6  # pauses in a row without an answer: the quota is used up


class BatchOptions(Struct, frozen=True):
    jobs: int
    max_cost: float | None = None
    fail_fast: int | None = None
    limits: Mapping[str, RateLimits] = {}
    max_wait_s: float = 900.0


class AttemptStarted(Struct, frozen=True, rename="camel", tag_field="type", tag="task_started"):
    id: str
    attempt: int


class AttemptProgress(Struct, frozen=True, rename="camel", tag_field="type", tag="task_progress"):
    id: str
    activity: str
    cost: float
    tokens: int


class AttemptEnded(Struct, frozen=True, rename="camel", tag_field="type", tag="task_repeated"):
    """It is tried again, at once or when the provider answers again."""

    id: str
    reason: str


class TaskEnded(Struct, frozen=True, rename="camel", tag_field="type", tag="task_ended"):
    result: BatchResult


class BatchNotice(Struct, frozen=True, rename="camel", tag_field="type", tag="notice"):
    message: str


BatchEvent: TypeAlias = AttemptStarted | AttemptProgress | AttemptEnded | TaskEnded | BatchNotice


class Coordinator:
    """Use `run` once. `stop` starts nothing new; `cancel` also stops what runs."""

    def __init__(
        self,
        folder: RunFolder,
        tasks: Mapping[str, BatchTask],
        executor: Executor,
        options: BatchOptions,
        tell: Callable[[BatchEvent], None],
        limit_of: Callable[[BatchTask], str],
        deliveries: "Deliveries | None" = None,
    ) -> None:
        self._folder = folder
        self._tasks = tasks
        self._executor = executor
        self._options = options
        self._tell = tell
        self._deliveries = deliveries
        plans = {
            key: TaskPlan(limit_of(task), task.attempts, tuple(task.after)) for key, task in tasks.items()
        }
        self.scheduler = Scheduler(plans, self._limiter, options.jobs)
        self.running: dict[str, Progress] = {}
        self.reason = ""  # why it stopped early
        self._work: dict[str, asyncio.Task[None]] = {}
        self._fences: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._refusals: dict[str, int] = {}
        self._code = DONE
        self._failures = 0

    @property
    def cost(self) -> float:
        """Of all attempts, including those that run."""
        return self._folder.state.spent + sum(_cost(progress) for progress in self.running.values())

    async def run(self) -> int:
        """Returns the exit code."""
        state = self._folder.state
        again = [key for key, result in state.results.items() if result.status == "cancelled"]
        if again:
            self._folder.write(run_folder.RetryRecord(again))
            self._folder.rewrite_results()
        for key, lease in list(state.open.items()):  # their workers ended with the last coordinator
            workspace = self._folder.path / "work" / f"{key}-{lease.fence}"
            await asyncio.to_thread(shutil.rmtree, workspace, ignore_errors=True)
            self._folder.write(
                run_folder.EndRecord(key, lease.fence, "The last run was interrupted.", counts=False)
            )
        results = {key: result.status for key, result in state.results.items()}
        for key in list(self.scheduler.load(results, state.attempts)):
            self._record_cancelled(key, "A task that it comes after was not done.")
        async with asyncio.TaskGroup() as group:
            while not self.scheduler.finished:
                self._start_all(group)
                await self._sleep()
        await self._deliver()
        if self._code:
            return self._code
        return DONE if all(status == "done" for status in self.scheduler.results.values()) else FAILED

    async def _deliver(self) -> None:
        """Results are on disk by now; what fails is due again in the next run."""
        for key, task in self._tasks.items():
            result = self._folder.state.results.get(key)
            if self._deliveries is None or result is None or not self._deliveries.is_due(task, result):
                continue
            try:
                self._tell(BatchNotice(f"{key}: {await self._deliveries.deliver(task, result)}"))
            except TauError as error:
                self._tell(BatchNotice(f"{key}: its changes were not delivered. {error}"))
                self._code = self._code or FAILED

    def stop(self, reason: str, code: int = INTERRUPTED) -> None:
        """Let what runs finish; what waits stays for a later run."""
        if not self.scheduler.stopped:
            self.scheduler.stopped = True
            self.reason, self._code = reason, code
            self._tell(BatchNotice(reason))
        self._changed.set()

    def cancel(self, *keys: str) -> None:
        """Stop these tasks, all without any."""
        for key in keys or tuple(self._work):
            if key in self._work:
                self._work[key].cancel()
        for key in keys:
            for blocked in list(self.scheduler.cancel(key)):
                self._record_cancelled(blocked, "Cancelled.")
        self._changed.set()

    def _start_all(self, group: asyncio.TaskGroup) -> None:
        while len(self._work) < self._executor.capacity and not self._is_over_cost():
            start = self.scheduler.next(time.monotonic())
            if start is None:
                return
            self._work[start.key] = spawn(group, self._attempt(start), name=start.key)

    async def _sleep(self) -> None:
        """Until something changed, or a pause is over."""
        wake = self.scheduler.wake_at(now := time.monotonic())
        with suppress(TimeoutError):
            async with asyncio.timeout(None if wake is None else max(0.01, wake - now)):
                await self._changed.wait()
        self._changed.clear()

    async def _attempt(self, start: TaskStart) -> None:
        key, task = start.key, self._tasks[start.key]
        fence = self._folder.state.fence + 1
        self._folder.write(run_folder.StartRecord(key, start.attempt, fence, "", iso(now_ms())))
        self._fences[key] = fence
        self.running[key] = Progress()
        self._tell(AttemptStarted(key, start.attempt))
        try:
            outcome = await self._executor.run(
                Lease(key, task, start.attempt, fence), lambda progress: self._progressed(key, progress)
            )
        except asyncio.CancelledError:
            outcome = self._cancelled(key, start.attempt)
        except TauError as error:
            outcome = BatchResult(id=key, attempt=start.attempt, status="failed", error=str(error))
        except Exception as error:
            log.error(f"The attempt at {key} failed.", error)
            outcome = BatchResult(
                id=key, attempt=start.attempt, status="failed", error=f"Internal error: {error}"
            )
        finally:
            del self._work[key]
            progress = self.running.pop(key)
            self._changed.set()
        if isinstance(outcome, Requeue):
            self._requeue(key, fence, outcome)
        else:
            self._finish(key, fence, outcome if outcome.usage else replace(outcome, usage=progress.usage))

    def _progressed(self, key: str, progress: Progress) -> None:
        self.running[key] = progress
        if progress.refused_for_s is not None:
            name = self.scheduler.plan(key).limit
            self.scheduler.limiter(name).refused(time.monotonic(), progress.refused_for_s)
        tokens = sum(usage.tokens for usage in progress.usage.values())
        self._tell(AttemptProgress(key, progress.activity, _cost(progress), tokens))
        if self._is_over_cost():  # each may finish its request, and starts no other
            for other, last in self.running.items():
                if last.activity not in ("", "check"):
                    self._work[other].cancel()

    def _requeue(self, key: str, fence: int, outcome: Requeue) -> None:
        self._folder.write(run_folder.EndRecord(key, fence, outcome.reason, counts=False, cost=outcome.cost))
        self._tell(AttemptEnded(key, outcome.reason))
        now, name = time.monotonic(), self.scheduler.plan(key).limit
        if not outcome.refused:
            self.scheduler.requeue(key)
            return
        limiter = self.scheduler.limiter(name)
        if now >= limiter.paused_until:
            self._refusals[name] = self._refusals.get(name, 0) + 1
        guess = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (self._refusals.get(name, 1) - 1))
        wait_s = guess if outcome.retry_after_s is None else outcome.retry_after_s
        limiter.refused(now, wait_s)
        self.scheduler.requeue(key)
        if wait_s > self._options.max_wait_s or self._refusals.get(name, 0) > MAX_REFUSALS:
            self.stop(f"Stopped: {name} accepts no requests for now ({outcome.reason})", TRY_LATER)

    def _finish(self, key: str, fence: int, result: BatchResult) -> None:
        if self._fences.get(key) != fence:
            self._folder.write(run_folder.DropRecord(key, fence, result.status))
            return
        self._refusals.pop(self.scheduler.plan(key).limit, None)
        final, blocked = self.scheduler.ended(key, result.status)
        if not final:
            self._folder.write(run_folder.EndRecord(key, fence, result.error, counts=True, cost=result.cost))
            self._tell(AttemptEnded(key, result.error or result.status))
            return
        self._folder.write(run_folder.ResultRecord(key, fence, result))
        self._tell(TaskEnded(result))
        for other in blocked:
            self._record_cancelled(other, f"It comes after {key}, which was not done ({result.status}).")
        self._failures += result.status not in ("done", "cancelled")
        if self._options.fail_fast and self._failures >= self._options.fail_fast:
            self.stop(f"Stopped after {self._failures} failed tasks.", FAILED)

    def _cancelled(self, key: str, attempt: int) -> BatchResult | Requeue:
        if self._is_over_cost():
            return Requeue("The cost limit is reached.", refused=False, cost=_cost(self.running[key]))
        cost = _cost(self.running[key])
        return BatchResult(id=key, attempt=attempt, status="cancelled", error="Cancelled.", cost=cost)

    def _record_cancelled(self, key: str, why: str) -> None:
        result = BatchResult(id=key, attempt=0, status="cancelled", error=why)
        self._folder.write(run_folder.ResultRecord(key, 0, result))
        self._tell(TaskEnded(result))

    def _is_over_cost(self) -> bool:
        limit = self._options.max_cost
        if limit is None or self.cost < limit:
            return False
        self.stop(f"Stopped: the cost limit of ${limit:g} is reached.", TRY_LATER)
        return True

    def _limiter(self, name: str) -> Limiter:
        return Limiter(self._options.jobs, self._options.limits.get(name, RateLimits()))


def _cost(progress: Progress) -> float:
    return sum(usage.cost for usage in progress.usage.values())
