"""Creates asyncio tasks. Only this module and `agent/abort.py` do, so that each task has an owner."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

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
