"""Notices when an event loop is idle, so that tests check conditions then instead of by the clock."""

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

LOOK_S = 0.01
"""How often to check what no event announces, such as a file made by another process."""


class IdleWatch:
    """Calls back each time its loop is about to sleep; one per loop, returned by `watch_of`."""

    def __init__(self, loop: Any) -> None:
        self._selector = loop._selector
        self._executor = lambda: loop._default_executor
        self._select = self._selector.select
        self._selector.select = self._select_or_work
        self._calls: list[Callable[[], bool]] = []
        self.waiting = 0
        """How many wait for a condition."""

    def call(self, look: Callable[[], bool]) -> Callable[[], None]:
        """Call `look` when idle, after those registered earlier; it says whether it found work. Call the
        returned function to unregister."""
        self._calls.append(look)
        return lambda: self._calls.remove(look)

    @property
    def at_rest(self) -> bool:
        """Whether no thread works for this loop and no child, socket or file can wake it."""
        executor = self._executor()
        resting = executor is None or (
            executor._work_queue.empty() and executor._idle_semaphore._value == len(executor._threads)
        )
        return resting and len(self._selector.get_map()) <= 1  # the loop's own pipe

    def _select_or_work(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout > 0:
            if any(look() for look in list(self._calls)):
                timeout = 0
            elif self.waiting:
                timeout = LOOK_S if timeout is None else min(timeout, LOOK_S)
        return self._select(timeout)


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, IdleWatch] = WeakKeyDictionary()


def watch_of(loop: asyncio.AbstractEventLoop) -> IdleWatch:
    if loop not in _watches:
        _watches[loop] = IdleWatch(loop)
    return _watches[loop]


async def until(holds: Callable[[], bool], seconds: float, failure: Callable[[], str]) -> None:
    """Return as soon as it holds; on timeout, fail with the text of `failure`."""
    if not holds():
        await _idle_and(holds, seconds, failure)


async def rest(seconds: float) -> bool:
    """Whether the loop becomes idle in that time: nothing to do, and nothing that will give it more."""
    watch = watch_of(asyncio.get_running_loop())
    try:
        await _idle_and(lambda: watch.at_rest, seconds, lambda: "")
    except AssertionError:
        return False
    return True


async def _idle_and(holds: Callable[[], bool], seconds: float, failure: Callable[[], str]) -> None:
    loop = asyncio.get_running_loop()
    watch, found = watch_of(loop), loop.create_future()

    def look() -> bool:
        if found.done():
            return False
        try:
            if holds():
                found.set_result(None)
        except Exception as error:
            found.set_exception(error)
        return found.done()

    end = watch.call(look)
    watch.waiting += 1
    try:
        await asyncio.wait_for(found, seconds)
    except TimeoutError:
        raise AssertionError(failure()) from None
    finally:
        watch.waiting -= 1
        end()
