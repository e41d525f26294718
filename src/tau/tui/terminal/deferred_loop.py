"""A stand-in for an event loop that starts later: it queues calls, so that painting needs no loop."""

import time
from collections.abc import Callable
from typing import Any

from tau.tui.terminal.output import TerminalLoop
from tau.tui.timer import Handle


class _Waiting:
    """A call queued until there is a loop."""

    __slots__ = ("args", "cancelled", "due", "fn", "handle")

    def __init__(self, due: float, fn: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.due = due
        self.fn = fn
        self.args = args
        self.cancelled = False
        self.handle: Handle | None = None

    def cancel(self) -> None:
        self.cancelled = True
        if self.handle is not None:
            self.handle.cancel()


class DeferredLoop:
    """A `TerminalLoop` that queues calls until you `attach` the real loop."""

    def __init__(self) -> None:
        self._loop: TerminalLoop | None = None
        self._waiting: list[_Waiting] = []

    def attach(self, loop: TerminalLoop) -> None:
        """Forward everything to the loop, starting with the queued calls."""
        self._loop = loop
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            if call.cancelled:
                continue
            wait_s = call.due - loop.time()
            if wait_s > 0:
                call.handle = loop.call_later(wait_s, call.fn, *call.args)
            else:
                call.handle = loop.call_soon(call.fn, *call.args)

    def time(self) -> float:
        return time.monotonic() if self._loop is None else self._loop.time()

    def call_soon(self, fn: Callable[..., object], /, *args: object) -> Handle:
        return self.call_later(0.0, fn, *args) if self._loop is None else self._loop.call_soon(fn, *args)

    def call_later(self, delay_s: float, fn: Callable[..., object], /, *args: object) -> Handle:
        if self._loop is not None:
            return self._loop.call_later(delay_s, fn, *args)
        call = _Waiting(time.monotonic() + delay_s, fn, args)
        self._waiting.append(call)
        return call

    def add_reader(self, fd: int, callback: Callable[..., object], /) -> object:
        return self._call("add_reader", fd, callback)

    def remove_reader(self, fd: int, /) -> bool:
        return self._drop_queued("add_reader", fd) or self._call("remove_reader", fd) is True

    def add_writer(self, fd: int, callback: Callable[..., object], /) -> object:
        return self._call("add_writer", fd, callback)

    def remove_writer(self, fd: int, /) -> bool:
        return self._drop_queued("add_writer", fd) or self._call("remove_writer", fd) is True

    def add_signal_handler(self, sig: int, callback: Callable[..., object], /) -> object:
        return self._call("add_signal_handler", sig, callback)

    def remove_signal_handler(self, sig: int, /) -> bool:
        return (
            self._drop_queued("add_signal_handler", sig) or self._call("remove_signal_handler", sig) is True
        )

    def _call(self, name: str, *args: object) -> object:
        """Call the loop, now or as soon as it is attached."""
        if self._loop is not None:
            return getattr(self._loop, name)(*args)
        return self.call_soon(self._call, name, *args)

    def _drop_queued(self, name: str, number: int) -> bool:
        """Drop a matching queued call; returns whether there was one."""
        mine = [call for call in self._waiting if call.args[:2] == (name, number) and not call.cancelled]
        for call in mine:
            call.cancel()
        return bool(mine)
