"""What a session is doing right now, so that a user can stop it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tau.agent.abort import Abort
from tau.base.errors import TauError


class Activities:
    """A stack: the innermost activity is the last. `running` says that the agent itself is at work."""

    def __init__(self) -> None:
        self._run: Abort | None = None
        self._aborts: list[Abort] = []
        self._quiet: list[Abort] = []
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def any(self) -> bool:
        return bool(self._aborts)

    @property
    def running(self) -> bool:
        return self._run is not None

    @property
    def innermost_is_run(self) -> bool:
        """Whether `abort` would stop the agent, and not something beside it."""
        return bool(self._aborts) and self._aborts[-1] is self._run

    @contextmanager
    def quietly(self) -> Iterator[Abort]:
        """Something that nobody sees and waits for: it ends with the session, and no key means it."""
        with self._noted(self._quiet) as abort:
            yield abort

    @contextmanager
    def begin(self, *, run: bool = False) -> Iterator[Abort]:
        """Something that can be stopped. Where it is a run of the agent, there is no other one beside it."""
        if run and self.running:
            raise TauError("The agent is at work; steer it, queue a follow-up, or stop it first.")
        with self._noted(self._aborts) as abort:
            if run:
                self._run = abort
            try:
                yield abort
            finally:
                if run:
                    self._run = None

    def abort(self) -> None:
        """Stop the innermost one."""
        if self._aborts:
            self._aborts[-1].abort()

    def abort_run(self) -> None:
        """Stop the agent, whatever else goes on."""
        if self._run is not None:
            self._run.abort()

    def abort_all(self) -> None:
        for abort in (*self._aborts, *self._quiet):
            abort.abort()

    async def end(self) -> None:
        """Stop everything, and what begins meanwhile, and wait until nothing is left."""
        while self._aborts or self._quiet:
            self.abort_all()
            await self._idle.wait()

    @contextmanager
    def _noted(self, aborts: list[Abort]) -> Iterator[Abort]:
        abort = Abort()
        aborts.append(abort)
        self._idle.clear()
        try:
            yield abort
        finally:
            aborts.remove(abort)
            if not self._aborts and not self._quiet:
                self._idle.set()
