"""Runs blocking work in a thread that ends soon after its caller is cancelled."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TypeVar

T = TypeVar("T")


class ThreadStopped(Exception):
    """Raised in the thread: its result is no longer needed."""


class StopSignal:
    """Tells a thread to stop: it polls, or registers a callback."""

    def __init__(self) -> None:
        self._event = Event()
        self.interrupt: Callable[[], object] | None = None

    def set(self) -> None:
        self._event.set()
        interrupt = self.interrupt
        if interrupt is not None:
            with suppress(Exception):  # the work may have just ended
                interrupt()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        if self._event.is_set():
            raise ThreadStopped


async def in_thread(work: Callable[[StopSignal], T]) -> T:
    """Return the result of `work`. When cancelled, stop the thread and wait for it."""
    stop = StopSignal()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([future])
        future.exception()  # retrieve it, so that asyncio does not log it as unhandled
        raise
