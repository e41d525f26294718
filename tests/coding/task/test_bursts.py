"""Many agents that end at once while the main conversation is busy: each result arrives, once."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tau.ai.faux import Act, Say, Use, Wait
from tau.coding.session.session import Session
from tests.coding.task.play import Answer, Play, finish, results_in, session_of, task, yielded
from tests.support.idle import until

COUNT = 100


async def mid_turn(session: Session, gate: asyncio.Event, hold: asyncio.Event) -> None:
    """The agents end while the main conversation waits for its model."""
    turn = asyncio.ensure_future(session.prompt("and?"))
    gate.set()
    await until(lambda: not session.team().roster.running(), 30, lambda: "still running")  # type: ignore
    hold.set()
    await turn


async def compacting(session: Session, gate: asyncio.Event, hold: asyncio.Event) -> None:
    turn = asyncio.ensure_future(session.compact())
    gate.set()
    await until(lambda: not session.team().roster.running(), 30, lambda: "still running")  # type: ignore
    hold.set()
    await turn


@pytest.mark.parametrize("state", [mid_turn, compacting])
def test_hundred_results_arrive_once_while_the_parent_is_busy(
    tmp_path: Path, state: Callable[..., Awaitable[None]]
) -> None:
    gate, hold = asyncio.Event(), asyncio.Event()
    play = Play(
        [
            [task(*(f"n{number}" for number in range(COUNT)))],
            [Say("They work. " * 200)],
            [Act(hold.wait), Say("## Goal\n\nA summary, or an answer.")],
            [Say("Noted.")],
        ],
        lambda assignment, turn: [Act(gate.wait), *yielded(f"result {assignment.split()[0]}.")],
    )

    async def main() -> None:
        settings = {"task.maxAgents": 0, "task.maxConcurrency": 0, "compaction.keepRecentTokens": 10}
        async with session_of(play, tmp_path, settings=settings) as session:
            await session.prompt("go")
            await until(lambda: play.active == COUNT, 30, lambda: f"{play.active} started")
            await state(session, gate, hold)
            await finish(session)
            text = "\n".join(results_in(session))
            assert [at for at in range(COUNT) if text.count(f"result n{at}.") != 1] == []

    asyncio.run(main())


def test_nothing_runs_or_asks_after_all_were_stopped(tmp_path: Path) -> None:
    """Neither a request nor a process is left, at any depth."""

    def agent(assignment: str, turn: int) -> Answer:
        if assignment.startswith("top") and turn == 0:
            return [task("below", agent="task")]
        if assignment.startswith("ask"):
            return [Wait(None)]
        return [Use("bash", command="mktemp began.XXXX && sleep 600")]

    async def main() -> None:
        play = Play([[task("top", "run", "ask")], [Say("ok")]], agent)
        settings = {"tools.approvalMode": "yolo"}
        async with session_of(play, tmp_path, settings=settings) as session:
            await session.prompt("go")
            team = session.team()  # type: ignore[misc]
            await until(
                lambda: len(list(tmp_path.glob("began.*"))) == 2 and play.active >= 1,
                30,
                lambda: str([(row.id, row.current_tool) for row in team.rows()]),
            )
            asked = len(play.agent_requests)
            assert team.stop_all() == 4
            await finish(session)
            assert len(play.agent_requests) == asked
            assert play.active == 0 and not team.roster.running()  # type: ignore[attr-defined]
            assert {row.status for row in team.rows()} == {"aborted"}

    asyncio.run(main())
