"""The clock of a screen under test: it draws when the loop is idle, and time can be skipped."""

import asyncio
from collections.abc import Callable
from typing import Any

from tau.tui.render.frame_loop import RESIZE_SETTLE_S
from tests.support.idle import watch_of

AT_ONCE_S = RESIZE_SETTLE_S
"""Pauses this short only batch things: they end when the loop is idle."""


class Call:
    """A scheduled call; implements `tau.tui.timer.Handle`."""

    def __init__(
        self, clock: "ScreenClock", due: float, fn: Callable[..., object], args: tuple[Any, ...]
    ) -> None:
        self.due = due
        self._clock = clock
        self._fn = fn
        self._args = args
        self.handle: asyncio.Handle | None = None

    def cancel(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
        self._clock.forget(self)

    def run(self) -> None:
        self.cancel()
        self._fn(*self._args)


class ScreenClock:
    """Implements `tau.tui.timer.Timer` with the time of the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._skipped_s = 0.0
        self._later: list[Call] = []
        self._soon: list[Call] = []
        watch_of(self._loop).call(self._run_soon)

    def time(self) -> float:
        return self._loop.time() + self._skipped_s

    def call_soon(self, fn: Callable[..., object], /, *args: Any) -> asyncio.Handle:
        return self._loop.call_soon(fn, *args)

    def call_later(self, delay_s: float, fn: Callable[..., object], /, *args: Any) -> Call:
        call = Call(self, self.time() + delay_s, fn, args)
        if delay_s <= AT_ONCE_S:
            self._soon.append(call)
        else:
            call.handle = self._loop.call_later(delay_s, call.run)
            self._later.append(call)
        return call

    def skip(self, seconds: float) -> None:
        """Let time pass, running due calls in order."""
        self._skipped_s += seconds
        now = self.time()
        for call in sorted(self._later, key=lambda call: call.due):
            if call not in self._later:  # an earlier one has cancelled it
                continue
            if call.due <= now:
                call.run()
            elif call.handle is not None:
                call.handle.cancel()
                call.handle = self._loop.call_later(call.due - now, call.run)

    def forget(self, call: Call) -> None:
        for calls in (self._later, self._soon):
            if call in calls:
                calls.remove(call)

    def _run_soon(self) -> bool:
        """Whether there was something to do."""
        calls, self._soon = self._soon, []
        for call in calls:
            call.handle = self._loop.call_soon(call.run)
        return bool(calls)
