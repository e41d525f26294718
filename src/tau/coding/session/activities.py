"""The activities of a session, each of which the user can stop."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from tau.agent.abort import Abort
from tau.base.errors import TauError


class Activities:
    """A stack: the innermost activity is the last. `running` means that the agent itself is busy."""

    def __init__(self) -> None:
        self._run: Abort | None = None
        self._run_ended = asyncio.Event()
        self._bash: list[Abort] = []
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
        """Whether `abort` would stop the agent rather than another activity."""
        return bool(self._aborts) and self._aborts[-1] is self._run

    def quietly(self) -> AbstractContextManager[Abort]:
        """An invisible activity: it ends with the session, and no key stops it."""
        return self._listed(self._quiet)

    @contextmanager
    def begin(self, *, run: bool = False, bash: bool = False) -> Iterator[Abort]:
        """An activity that can be stopped. Only one `run` of the agent is allowed at a time.

        `bash`: a command of the user.
        """
        if run and self.running:
            raise TauError("The agent is busy; steer it, queue a follow-up, or stop it first.")
        with self._listed(self._aborts) as abort:
            if run:
                self._run = abort
                self._run_ended.clear()
            if bash:
                self._bash.append(abort)
            try:
                yield abort
            finally:
                if run:
                    self._run = None
                    self._run_ended.set()
                if bash:
                    self._bash.remove(abort)

    def abort(self) -> None:
        """Stop the innermost activity."""
        if self._aborts:
            self._aborts[-1].abort()

    def abort_run(self) -> None:
        """Stop the agent, whatever else is running."""
        if self._run is not None:
            self._run.abort()

    async def end_run(self) -> None:
        """Stop the agent and wait until its work is recorded."""
        if self._run is not None:
            self._run.abort()
            await self._run_ended.wait()

    def abort_bash(self) -> None:
        """Stop the user's commands."""
        for abort in self._bash:
            abort.abort()

    async def end(self) -> None:
        """Stop all activities, including those that start meanwhile, and wait until none is left."""
        while self._aborts or self._quiet:
            for abort in (*self._aborts, *self._quiet):
                abort.abort()
            await self._idle.wait()

    @contextmanager
    def _listed(self, aborts: list[Abort]) -> Iterator[Abort]:
        abort = Abort()
        aborts.append(abort)
        self._idle.clear()
        try:
            yield abort
        finally:
            aborts.remove(abort)
            if not self._aborts and not self._quiet:
                self._idle.set()
