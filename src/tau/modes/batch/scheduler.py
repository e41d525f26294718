"""Decides which task starts next. Knows no processes and no files, and gets its time from the caller."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from tau.modes.batch.limiter import Limiter

Status = Literal[
    "done",
    "check_failed",
    "failed",
    "budget",
    "timeout",
    "setup_failed",
    "unsupported",
    "cancelled",
]
REPEATABLE: tuple[Status, ...] = ("check_failed", "failed", "timeout", "setup_failed")


class TaskPlan(Struct, frozen=True):
    """What the scheduler knows of a task. `limit` names the limiter it counts on."""

    limit: str
    attempts: int = 1
    after: tuple[str, ...] = ()


class TaskStart(Struct, frozen=True):
    key: str
    attempt: int


class Scheduler:
    """Tasks wait in one queue for each limiter, so that a paused provider holds up no other."""

    def __init__(self, plans: Mapping[str, TaskPlan], limiter: Callable[[str], Limiter], jobs: int) -> None:
        self._plans = plans
        self._make_limiter = limiter
        self._jobs = jobs
        self._limiters: dict[str, Limiter] = {}
        self._queues: dict[str, deque[str]] = {}
        self._missing: dict[str, int] = {}
        self._followers: dict[str, list[str]] = {}
        self._attempts: dict[str, int] = {}
        self.running: dict[str, int] = {}
        self.results: dict[str, Status] = {}
        self.stopped = False

    def load(self, results: Mapping[str, Status], attempts: Mapping[str, int]) -> Iterator[str]:
        """Queue what has no result; yields the tasks that cannot run after those of earlier runs."""
        self.results = dict(results)
        self._attempts = dict(attempts)
        blocked = []
        for key, plan in self._plans.items():
            if key in self.results:
                continue
            missing = [name for name in plan.after if self.results.get(name) != "done"]
            for name in missing:
                self._followers.setdefault(name, []).append(key)
            if missing:
                self._missing[key] = len(missing)
                if any(name in self.results for name in missing):
                    blocked.append(key)
            else:
                self._queue(plan.limit).append(key)
        for key in blocked:
            yield from self._block(key)

    def next(self, now: float) -> TaskStart | None:
        """Take the next task that may start; the caller starts it."""
        if self.stopped or len(self.running) >= self._jobs:
            return None
        for name, queue in self._queues.items():
            if not queue:
                continue
            limiter = self.limiter(name)
            if limiter.free_at(now) == now:
                self._queues[name] = self._queues.pop(name)  # the others come first next time
                key = queue.popleft()
                limiter.started()
                attempt = self._attempts.get(key, 0) + 1
                self._attempts[key] = attempt
                self.running[key] = attempt
                return TaskStart(key, attempt)
        return None

    def wake_at(self, now: float) -> float | None:
        """When `next` may have a task without anything having ended; None: not before something ends."""
        if self.stopped or len(self.running) >= self._jobs:
            return None
        times = [self.limiter(name).free_at(now) for name, queue in self._queues.items() if queue]
        return min((time for time in times if time is not None), default=None)

    def ended(self, key: str, status: Status) -> tuple[bool, Iterable[str]]:
        """Whether this is the result, or it is tried again; and the tasks that cannot run anymore."""
        attempt = self.running.pop(key)
        plan = self._plans[key]
        self.limiter(plan.limit).ended(success=status in ("done", "check_failed"))
        if status in REPEATABLE and attempt < plan.attempts and not self.stopped:
            self._queue(plan.limit).append(key)
            return False, ()
        return True, tuple(self._settle(key, status))

    def requeue(self, key: str) -> None:
        """This was no attempt, and it is the next one."""
        attempt = self.running.pop(key)
        self._attempts[key] = attempt - 1
        plan = self._plans[key]
        self.limiter(plan.limit).ended(success=False)
        self._queue(plan.limit).appendleft(key)

    def plan(self, key: str) -> TaskPlan:
        return self._plans[key]

    def cancel(self, key: str) -> Iterator[str]:
        """A task that waits will not run; yields it and what depends on it."""
        if key in self.results or key in self.running:
            return
        queue = self._queue(self._plans[key].limit)
        if key in queue:
            queue.remove(key)
        yield from self._block(key)

    def limiter(self, name: str) -> Limiter:
        if name not in self._limiters:
            self._limiters[name] = self._make_limiter(name)
        return self._limiters[name]

    @property
    def waiting(self) -> int:
        return len(self._plans) - len(self.results) - len(self.running)

    @property
    def finished(self) -> bool:
        return not self.running and (self.stopped or not self.waiting)

    def _queue(self, name: str) -> deque[str]:
        return self._queues.setdefault(name, deque())

    def _settle(self, key: str, status: Status) -> Iterator[str]:
        self.results[key] = status
        for follower in self._followers.pop(key, ()):
            if status == "done":
                self._missing[follower] -= 1
                if not self._missing[follower]:
                    del self._missing[follower]
                    self._queue(self._plans[follower].limit).append(follower)
            else:
                yield from self._block(follower)

    def _block(self, key: str) -> Iterator[str]:
        """Cancel a task and what depends on it."""
        stack = [key]
        while stack:
            current = stack.pop()
            if current not in self.results:
                self.results[current] = "cancelled"
                self._missing.pop(current, None)
                yield current
                stack += self._followers.pop(current, ())
