"""task: agents start, work, yield, and their results arrive once."""

import asyncio
from pathlib import Path

from tau.ai.faux import Say, Use
from tests.coding.task.play import Play, finish, results_in, session_of, task, yielded


def test_background_agents_hand_over_their_results(tmp_path: Path) -> None:
    play = Play(
        [[task("find A", "find B")], [Say("started")], [Say("thanks")], [Say("thanks")]],
        lambda assignment, turn: yielded(f"result of {assignment.splitlines()[0]}"),
    )

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)
            told = results_in(session)
            assert told[0].startswith("Spawned 2 background agents using task.")
            assert sum("result of find A" in text for text in told) == 1
            assert sum("result of find B" in text for text in told) == 1
            for agent in session.team().roster.agents.values():
                assert agent.record.result is not None and agent.record.result.outcome == "completed"
                assert (
                    (session.team().roster.folder / f"{agent.id}.md").read_text().startswith("result of find")
                )
                assert agent.record.delivered

    asyncio.run(main())


def test_blocking_call_returns_all_results(tmp_path: Path) -> None:
    play = Play([[task("A", "B")], [Say("ok")]], lambda assignment, turn: yielded({"n": assignment[0]}))

    async def main() -> None:
        async with session_of(play, tmp_path, settings={"async.enabled": False}) as session:
            await session.prompt("go")
            [told] = results_in(session)
            assert '"n": "A"' in told and '"n": "B"' in told

    asyncio.run(main())


def test_first_requests_differ_only_from_the_assignment_on(tmp_path: Path) -> None:
    play = Play([[task("A", "B", "C")], [Say("ok")]], lambda assignment, turn: yielded())

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)

    asyncio.run(main())
    first, *others = play.agent_requests
    for other in others:
        assert (other.system, other.tools, other.cache_key) == (first.system, first.tools, first.cache_key)
    assert "Shared background." in first.system


def test_agent_that_never_yields_fails_with_its_text(tmp_path: Path) -> None:
    play = Play([[task("A")], [Say("ok")]], lambda assignment, turn: [Say("I looked around.")])

    async def main() -> None:
        async with session_of(play, tmp_path, settings={"async.enabled": False}) as session:
            await session.prompt("go")
            [told] = results_in(session)
            assert "failed" in told and "without calling yield after 3 reminders" in told
            assert "I looked around." in told
            assert len(play.agent_requests) == 4
            assert play.agent_requests[-1].tool_choice == "yield"

    asyncio.run(main())


def test_agents_start_agents_down_to_the_limit(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        if assignment.startswith("outer") and turn == 0:
            return [task("inner")]
        return yielded(f"{assignment.splitlines()[0]} done")

    play = Play([[task("outer")], [Say("ok")]], agent)

    async def main() -> None:
        async with session_of(play, tmp_path, settings={"task.maxConcurrency": 1}) as session:
            await session.prompt("go")
            await finish(session)
            outer, inner = session.team().roster.agents.values()
            assert inner.record.parent == outer.id and inner.id.startswith(f"{outer.id}.")
            assert "task" in outer.record.tools and "task" not in inner.record.tools
            assert outer.record.result is not None and outer.record.result.outcome == "completed"

    asyncio.run(main())


def test_agent_uses_tools_of_its_caller_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    play = Play(
        [[task("look", agent="explore")], [Say("ok")]],
        lambda assignment, turn: [Use("read", path="a.txt")] if turn == 0 else yielded("seen"),
    )

    async def main() -> None:
        async with session_of(play, tmp_path, tools=("read", "task", "write")) as session:
            await session.prompt("go")
            await finish(session)
            names = {tool.name for tool in play.agent_requests[0].tools}
            assert names == {"read", "irc", "yield"}

    asyncio.run(main())
