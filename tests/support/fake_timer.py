"""A clock that tests advance by hand; it implements `tau.tui.timer.Timer`."""

from collections.abc import Callable
from typing import Any


class FakeHandle:
    """A call that `FakeTimer` holds until it is due."""

    __slots__ = ("args", "cancelled", "due", "fn")

    def __init__(self, due: float, fn: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.due = due
        self.fn = fn
        self.args = args
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeTimer:
    """A clock that moves only with `advance`; calls run in the order of their due times."""

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
        """Advance time and run due calls, including those they schedule in turn."""
        end = self._now + seconds
        while True:
            # Of those due at the same time, the one scheduled first.
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
        """How many calls are pending: 0 means nothing would ever wake up."""
        return sum(not handle.cancelled for handle in self._calls)
