"""Detects stalled streams by their deltas; keep-alive bytes do not count."""

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from tau.base.errors import ProviderError

T = TypeVar("T")

CHECKS = 8  # per shorter limit; a stall is detected at most one check late


class StallWatch(Generic[T]):
    """Forwards deltas; raises a retryable `ProviderError` if none comes in `first_s`, later in `idle_s`.

    `what` starts the message for the user. The consumer's time between deltas does not count. A timer checks
    periodically whether the same wait is still on; deltas set no timers. A stall cancels the waiting task and
    turns that into the error; outside cancellation is passed on. One task consumes the whole stream.
    """

    def __init__(self, deltas: AsyncIterator[T], *, first_s: float, idle_s: float, what: str) -> None:
        self._deltas = deltas
        self._first_s, self._idle_s, self._what = first_s, idle_s, what
        self._check_s = min(first_s, idle_s) / CHECKS
        self._turn = 0  # incremented when a wait starts and ends: odd during a wait
        self._seen_turn = self._quiet_checks = 0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._stalled = False

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        self._turn += 1
        if self._timer is None:
            self._arm()
        try:
            delta = await self._deltas.__anext__()
        except BaseException as error:
            self._stop()
            if self._withdraw() and isinstance(error, asyncio.CancelledError):
                await self.aclose()
                raise ProviderError(self._message(), retryable=True, kind="stall") from None
            self._turn += 1
            raise
        if self._stalled:
            self._withdraw()  # the delta came after all
        self._turn += 1
        return delta

    async def aclose(self) -> None:
        """Close the underlying stream too."""
        self._stop()
        close = getattr(self._deltas, "aclose", None)
        if close is not None:
            await close()

    def _limit_s(self) -> float:
        return self._first_s if self._turn == 1 else self._idle_s

    def _message(self) -> str:
        where = "before" if self._turn == 1 else "in the middle of"
        return f"{self._what} stalled: nothing came for {self._limit_s():g} s {where} its answer."

    def _arm(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        if task is not self._task:
            self._task, self._cancelling = task, task.cancelling()
        self._seen_turn, self._quiet_checks = self._turn, 0
        self._timer = asyncio.get_running_loop().call_later(self._check_s, self._check)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Counts checks, not time: a blocked loop or a suspended machine is not the server's fault."""
        self._timer = None
        if self._turn % 2 == 0 or self._task is None:
            return  # the consumer is busy; its next wait restarts the timer
        self._quiet_checks = self._quiet_checks + 1 if self._turn == self._seen_turn else 0
        self._seen_turn = self._turn
        if self._quiet_checks * self._check_s < self._limit_s() * 0.999:
            self._timer = asyncio.get_running_loop().call_later(self._check_s, self._check)
        elif self._task.cancelling() <= self._cancelling:
            self._stalled = True
            self._task.cancel()

    def _withdraw(self) -> bool:
        """Withdraw our cancellation. True if there was one and nothing else cancelled the task."""
        if not self._stalled or self._task is None:
            return False
        self._stalled = False
        return self._task.uncancel() <= self._cancelling
