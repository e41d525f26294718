"""Creates asyncio tasks. Only this module and `agent/abort.py` do, so that each task has an owner."""

import asyncio
from collections.abc import Collection, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tau.base import log
from tau.base.files import try_lock

LOCK_PAUSE_S = 0.02
OWN_FOLDER = str(Path(__file__).parents[1])
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


async def run_until_aborted(
    work: Coroutine[Any, Any, T], abort: AbstractAsyncContextManager[None], limit_s: float
) -> T:
    """Code of others inside the scope of an abort, ended in time even if it swallows cancellations."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        async with abort:
            await asyncio.wait((task,))
            return task.result()
    finally:
        await shielded(end_all((task,), limit_s))


async def end_all(tasks: Collection[asyncio.Task[Any]], limit_s: float) -> None:
    """Cancel them; code that goes on after `limit_s` is closed where it waits."""
    waiting = {task for task in tasks if task.cancel()}
    if waiting:
        _, waiting = await asyncio.wait(waiting, timeout=limit_s)
    for task in waiting:
        code: Any = task.get_coro()
        while getattr(code, "cr_code", None) is not None and code.cr_code.co_filename.startswith(OWN_FOLDER):
            code = code.cr_await
        with suppress(BaseException):
            code.close()
        task.cancel()
    if waiting:
        ended, _ = await asyncio.wait(waiting, timeout=limit_s)
        for task in ended:
            _ = task.cancelled() or task.exception()  # nobody else looks


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
