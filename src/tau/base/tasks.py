"""Creates asyncio tasks. Only this module and `agent/abort.py` do, so that each task has an owner."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from tau.base import log
from tau.base.files import try_lock

LOCK_PAUSE_S = 0.02
T = TypeVar("T")


def spawn(group: asyncio.TaskGroup, work: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
    """Run `work` concurrently; the group waits for it and cancels it."""
    return group.create_task(work, name=name)


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Finish cleanup even if we are cancelled meanwhile; the cancellation is raised afterwards.

    The work must limit its own duration: nothing can interrupt it.
    """
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    raise cancelled from (None if task.cancelled() else task.exception())


async def take_lock(fd: int, limit_s: float) -> None:
    """Wait for the lock of an open file without holding up the event loop. Raises TimeoutError."""
    async with asyncio.timeout(limit_s):
        while not try_lock(fd):  # noqa: ASYNC110 - no event for the unlock of another process
            await asyncio.sleep(LOCK_PAUSE_S)


class Background:
    """Work that nobody waits for. Its owner closes it: what is not done then has a moment left."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """The work handles its own failures; one that it does not is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def close(self, grace_s: float = 0.0) -> None:
        if self._tasks and grace_s:
            await asyncio.wait(self._tasks, timeout=grace_s)
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Background work failed.", error)
