"""A user's abort: cancels the work in flight, never the loop that records it."""

import asyncio
from contextlib import suppress
from types import TracebackType


class Aborted(Exception):
    """The user stopped this activity."""


class Abort:
    """One per activity. Work that may be stopped runs inside `async with abort.scope():`."""

    def __init__(self) -> None:
        self.aborted = False
        self._scopes: set[AbortScope] = set()

    def abort(self) -> None:
        """Stop everything inside a scope of this abort, now and later."""
        if self.aborted:
            return
        self.aborted = True
        for scope in tuple(self._scopes):
            scope.fire()

    def scope(self) -> "AbortScope":
        return AbortScope(self, self._scopes)

    async def sleep(self, seconds: float) -> None:
        """Sleep; raises Aborted as soon as the user aborts."""
        async with self.scope():
            await asyncio.sleep(seconds)


class AbortScope:
    """Turns a user's abort into a cancellation of the task inside, and that into `Aborted` on exit.

    A cancellation from outside wins: it passes through even if an abort came first.
    """

    def __init__(self, abort: Abort, entered: "set[AbortScope]") -> None:
        self._abort = abort
        self._entered = entered
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._fired = False

    def fire(self) -> None:
        assert self._task is not None
        self._fired = True
        self._task.cancel()

    async def __aenter__(self) -> None:
        if self._abort.aborted:
            raise Aborted
        self._task = asyncio.current_task()
        assert self._task is not None
        self._cancelling = self._task.cancelling()
        self._entered.add(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.discard(self)
        if not self._fired:
            return
        assert self._task is not None
        if kind is None or not issubclass(kind, asyncio.CancelledError):
            # The body ended before the cancellation reached it: absorb it, keep the body's result or error.
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            if self._task.uncancel() > self._cancelling:
                raise asyncio.CancelledError
        elif self._task.uncancel() <= self._cancelling:
            raise Aborted from None
