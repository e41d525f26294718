"""Work that would hold up the event loop, in a thread that ends soon after its caller is cancelled."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TypeVar

T = TypeVar("T")


class ThreadStopped(Exception):
    """Raised inside the thread: nobody waits for its result any more."""


class StopSignal:
    """How a thread learns that it shall end: it asks now and then, or leaves something to be called."""

    def __init__(self) -> None:
        self._event = Event()
        self.interrupt: Callable[[], object] | None = None

    def set(self) -> None:
        self._event.set()
        interrupt = self.interrupt
        if interrupt is not None:
            with suppress(Exception):  # what is to be interrupted may have ended a moment ago
                interrupt()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        if self._event.is_set():
            raise ThreadStopped


async def in_thread(work: Callable[[StopSignal], T]) -> T:
    """The result of `work`. When cancelled it tells the thread to stop and waits until that has ended."""
    stop = StopSignal()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([future])
        future.exception()  # looked at, so that nobody complains that it was not
        raise
