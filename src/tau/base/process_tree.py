"""Processes that end together: all that one session started, even if detached."""

import asyncio
import os
import signal
from collections.abc import Callable

from tau.base import marked_processes
from tau.base.orphan_guard import OrphanGuard
from tau.base.pipe import Sinks
from tau.base.run import FAMILY_ID

GRACE_S = 1.0
STUCK_S = 2.0
POLL_S = 0.005


class LocalProcessTree:
    """Implements `tau.base.run.ProcessTree`: its members share a variable in their environment."""

    def __init__(self, guard: OrphanGuard) -> None:
        self._id = os.urandom(8).hex()
        self._guard = guard
        self._sinks = Sinks()
        guard.announce(FAMILY_ID, self._id)

    @property
    def env(self) -> dict[str, str]:
        return {FAMILY_ID: self._id}

    def adopt(self, pipe: int) -> None:
        """Drain a pipe that a background process may still write to."""
        self._sinks.adopt(pipe)

    async def end(self) -> None:
        try:
            await end_all(lambda: marked_processes.marked(FAMILY_ID, self._id), GRACE_S)
        finally:
            self._guard.forget(FAMILY_ID, self._id)
            self._sinks.close()


async def end_all(find: Callable[[], list[int]], grace_s: float) -> None:
    """Send TERM to all processes of `find`, and KILL after the grace period, until none is found."""
    marked_processes.send(left := find(), signal.SIGTERM)
    marked_processes.send(left, signal.SIGCONT)  # a stopped process cannot obey
    left = await _wait_for(find, left, grace_s)
    if not left:
        return
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STUCK_S
    while left and loop.time() < deadline:
        marked_processes.send(
            left, signal.SIGKILL
        )  # repeat: a fork bomb continues until every process is hit
        await asyncio.sleep(0)
        left = find()


async def _wait_for(find: Callable[[], list[int]], left: list[int], seconds: float) -> list[int]:
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, POLL_S
    while left and loop.time() < deadline:
        await asyncio.sleep(min(pause, max(deadline - loop.time(), 0)))
        pause = min(2 * pause, 20 * POLL_S)
        left = find()
    return left
