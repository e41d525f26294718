"""What a session is doing, which of it a key stops, and that all of it ends with the session."""

import asyncio
from contextlib import suppress

import pytest

from tau.agent.abort import Aborted
from tau.base.errors import TauError
from tau.coding.session.activities import Activities


def test_abort_stops_the_innermost_activity() -> None:
    async def main() -> None:
        activities = Activities()
        with activities.begin(run=True) as run, activities.begin() as beside:
            assert activities.any
            assert activities.running
            assert not activities.innermost_is_run
            activities.abort()
            assert (run.aborted, beside.aborted) == (False, True)
        assert not activities.any
        assert not activities.running

    asyncio.run(main())


def test_only_one_agent_run_at_a_time() -> None:
    async def main() -> None:
        activities = Activities()
        with activities.begin(run=True):
            with pytest.raises(TauError, match="is busy"), activities.begin(run=True):
                pass
            assert activities.running

    asyncio.run(main())


def test_abort_does_not_stop_quiet_activities() -> None:
    async def main() -> None:
        activities = Activities()
        with activities.quietly() as quiet:
            assert not activities.any
            activities.abort()
            activities.abort_run()
            assert not quiet.aborted

    asyncio.run(main())


def test_closing_the_session_stops_everything() -> None:
    async def work(activities: Activities, done: list[str]) -> None:
        with activities.quietly() as quiet, suppress(Aborted):
            await quiet.sleep(600)
        done.append("quiet")

    async def main() -> None:
        activities, done = Activities(), list[str]()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work(activities, done))
            await asyncio.sleep(0)
            await activities.end()
            assert done == ["quiet"]

    asyncio.run(main())
