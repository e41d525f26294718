"""What a session is doing right now, so that a user can stop it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tau.agent.abort import Abort
from tau.base.errors import TauError


class Activities:
    """A stack: the innermost activity is the last. `running` says that the agent itself is at work."""

    def __init__(self) -> None:
        self.running = False
        self._aborts: list[Abort] = []
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def any(self) -> bool:
        return bool(self._aborts)

    @contextmanager
    def begin(self, *, run: bool = False) -> Iterator[Abort]:
        """Something that can be stopped. Where it is a run of the agent, there is no other one beside it."""
        if run and self.running:
            raise TauError("The agent is at work; steer it, queue a follow-up, or stop it first.")
        abort = Abort()
        self._aborts.append(abort)
        self._idle.clear()
        self.running = self.running or run
        try:
            yield abort
        finally:
            self.running = self.running and not run
            self._aborts.remove(abort)
            if not self._aborts:
                self._idle.set()

    def abort(self) -> None:
        """Stop the innermost one."""
        if self._aborts:
            self._aborts[-1].abort()

    def abort_all(self) -> None:
        for abort in tuple(self._aborts):
            abort.abort()

    async def end(self) -> None:
        """Stop everything, and what begins meanwhile, and wait until nothing is left."""
        while self._aborts:
            self.abort_all()
            await self._idle.wait()
