"""The engine's clock; an asyncio loop is a `Timer`."""

from collections.abc import Callable
from typing import Protocol

from tau.base.late import late

asyncio = late("asyncio")


class Handle(Protocol):
    """A pending call."""

    def cancel(self) -> None: ...


class Timer(Protocol):
    """What an asyncio loop offers."""

    def time(self) -> float: ...
    def call_soon(self, fn: Callable[..., object], /, *args: object) -> Handle: ...
    def call_later(self, delay_s: float, fn: Callable[..., object], /, *args: object) -> Handle: ...


async def sleep(timer: Timer, seconds: float) -> None:
    """Sleep on this timer, like `asyncio.sleep`."""
    over = asyncio.Event()
    handle = timer.call_later(seconds, over.set)
    try:
        await over.wait()
    finally:
        handle.cancel()
