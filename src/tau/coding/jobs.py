"""Background work of a session: bounded, visible, ended with the session."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from tau.base import log
from tau.base.errors import ToolError
from tau.base.tasks import spawn
from tau.coding.ports import Job

MAX_RUNNING = 100
MAX_KEPT = 200


class SessionJobs:
    """Use as `async with`: leaving it cancels what still runs and waits for it."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._jobs: dict[str, Job] = {}
        self._count = 0

    async def __aenter__(self) -> "SessionJobs":
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        for task in self._tasks.values():
            task.cancel()
        assert self._group is not None
        await self._group.__aexit__(None, None, None)

    def start(self, label: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> str:
        if self._group is None:
            raise ToolError("Background work needs a session that is open.")
        if len(self._tasks) >= MAX_RUNNING:
            raise ToolError(f"{MAX_RUNNING} jobs are running already; wait for one or cancel one.")
        self._count += 1
        id = f"job-{self._count}"
        self._jobs[id] = Job(id=id, label=label, state="running")
        self._tasks[id] = task = spawn(self._group, self._run(id, label, work), name=id)
        task.add_done_callback(lambda _: self._ended(id))
        return id

    def list(self) -> Sequence[Job]:
        return list(self._jobs.values())

    def cancel(self, id: str) -> None:
        if id not in self._jobs:
            raise ToolError(f"There is no job {id}. Jobs: {', '.join(self._jobs) or 'none'}.")
        if id in self._tasks:
            self._tasks[id].cancel()

    async def _run(self, id: str, label: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        try:
            self._jobs[id] = Job(id=id, label=label, state="done", result=await work())
        except Exception as error:
            log.error(f"The job {id} ({label}) failed.", error)
            self._jobs[id] = Job(id=id, label=label, state="failed", result=str(error))

    def _ended(self, id: str) -> None:
        del self._tasks[id]
        job = self._jobs[id]
        if job.state == "running":  # cancelled, perhaps before it took its first step
            self._jobs[id] = Job(id=id, label=job.label, state="cancelled")
        ended = [key for key, value in self._jobs.items() if value.state != "running"]
        for key in ended[: max(0, len(self._jobs) - MAX_KEPT)]:
            del self._jobs[key]
