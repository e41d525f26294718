"""Runs the commands of extensions as activities of the session, which Escape stops."""

from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

from tau.agent.abort import Abort
from tau.base.tasks import run_until_aborted
from tau.coding.session.activities import Activities

STOP_LIMIT_S = 0.1
"""For a stopped command to end on its own."""


class RunningCommands:
    def __init__(self) -> None:
        self._aborts: set[Abort] = set()

    async def run(
        self, work: Coroutine[Any, Any, Any], activities: Activities, stoppable: AsyncExitStack
    ) -> None:
        """Raises Aborted when it is stopped, until `stoppable` is closed."""
        async with stoppable:
            abort = stoppable.enter_context(activities.begin())
            self._aborts.add(abort)
            stoppable.callback(self._aborts.discard, abort)
            await run_until_aborted(work, abort.scope(), STOP_LIMIT_S)

    def stop(self) -> None:
        """Stop all of them."""
        for abort in tuple(self._aborts):
            abort.abort()
