"""Runs blocking work in a thread, so that its caller can be cancelled."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event, Thread
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


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Return the result of `work`, which nothing can interrupt. When cancelled, abandon the thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not done.done():  # not cancelled meanwhile
            outcome()

    def run() -> None:
        try:
            outcome = partial(done.set_result, work())
        except Exception as error:
            outcome = partial(done.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    Thread(target=run, name="tau-blocking", daemon=True).start()
    return await done
