"""Time as the engine sees it: an asyncio loop is a `Timer`, `FakeTimer` is one that tests move by hand."""

from collections.abc import Callable
from typing import Any, Protocol

from tau.base.late import late

asyncio = late("asyncio")


class Handle(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


class Timer(Protocol):
    """What an asyncio loop offers."""

    def time(self) -> float: ...
    def call_soon(self, fn: Callable[..., object], /, *args: Any) -> Handle: ...
    def call_later(self, delay_s: float, fn: Callable[..., object], /, *args: Any) -> Handle: ...


async def sleep(timer: Timer, seconds: float) -> None:
    """As `asyncio.sleep`, by that timer."""
    over = asyncio.Event()
    handle = timer.call_later(seconds, over.set)
    try:
        await over.wait()
    finally:
        handle.cancel()


class FakeHandle:
    """A call that `FakeTimer` keeps until its time has come."""

    __slots__ = ("args", "cancelled", "due", "fn")

    def __init__(self, due: float, fn: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.due = due
        self.fn = fn
        self.args = args
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeTimer:
    """A clock that stands still until `advance`; calls run in the order of their times."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._calls: list[FakeHandle] = []

    def time(self) -> float:
        return self._now

    def call_soon(self, fn: Callable[..., object], /, *args: Any) -> FakeHandle:
        return self.call_later(0.0, fn, *args)

    def call_later(self, delay_s: float, fn: Callable[..., object], /, *args: Any) -> FakeHandle:
        handle = FakeHandle(self._now + max(delay_s, 0.0), fn, args)
        self._calls.append(handle)
        return handle

    def advance(self, seconds: float = 0.0) -> None:
        """Let time pass, and run what falls due on the way, also what those calls ask for in turn."""
        end = self._now + seconds
        while True:
            # Of those due at the same time, the one that was asked for first.
            handle = min(self._calls, key=lambda call: call.due, default=None)
            if handle is None or handle.due > end:
                break
            self._calls.remove(handle)
            if not handle.cancelled:
                self._now = max(self._now, handle.due)
                handle.fn(*handle.args)
        self._now = end

    @property
    def pending(self) -> int:
        """How many calls are still to come: 0 means that nothing would ever wake up."""
        return sum(not handle.cancelled for handle in self._calls)
