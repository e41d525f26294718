"""After a restart: results that did not arrive are delivered once, interrupted agents can be revived."""

import asyncio
import shutil
from pathlib import Path

from tau.ai.faux import Say, Use, Wait
from tau.coding.session.session import Session
from tau.modes.agents_report import agent_state
from tests.coding.task.play import Play, finish, results_in, session_of, task, yielded
from tests.support.idle import until


def test_running_agents_are_parked_and_revived_by_a_message(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return [Say("begun"), Wait(None)] if turn == 0 else yielded("continued")

    async def first() -> Path:
        play = Play([[task("slow", id="Slow")], [Say("started")]], agent)
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await until(lambda: play.active == 1, 5, lambda: "the agent did not start")
            assert session.log.path is not None
            return session.log.path

    async def second(path: Path) -> None:
        play = Play([[Say("ok")]], lambda assignment, turn: yielded("continued"))
        async with session_of(play, tmp_path, resume=str(path)) as session:
            row = session.team().row("Slow")
            assert row is not None and row.status == "aborted" and agent_state(row) == "interrupted"
            await session.go_on(results=True)
            assert "Slow was interrupted" in results_in(session)[-1]
            receipt = await session.team().mail.send("Main", "Slow", "go on")
            assert receipt.outcome == "revived", receipt
            await settle(session)
            result = session.team().result("Slow")
            assert result is not None and result.output == "continued"

    path = asyncio.run(first())
    asyncio.run(second(path))


async def settle(session: Session) -> None:
    team = session.team()
    await until(
        lambda: all(row.status not in ("pending", "running") for row in team.rows()),
        5,
        lambda: "still running",
    )


def test_results_are_delivered_once_across_restarts(tmp_path: Path) -> None:
    async def first() -> Path:
        play = Play([[task("A", id="A")], [Say("started")]], lambda assignment, turn: yielded("alpha"))
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)
            assert sum("alpha" in text for text in results_in(session)) == 1
            assert session.log.path is not None
            return session.log.path

    async def second(path: Path) -> int:
        play = Play([[Say("ok")]], lambda assignment, turn: yielded("alpha"))
        async with session_of(play, tmp_path, resume=str(path)) as session:
            await session.prompt("and?")
            return sum("alpha" in text for text in results_in(session))

    path = asyncio.run(first())
    assert asyncio.run(second(path)) == 1
    assert asyncio.run(second(path)) == 1


def test_agents_of_a_killed_process_are_reported_and_can_be_revived(tmp_path: Path) -> None:
    """What is on disk while an agent works is what a kill leaves."""

    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        if assignment.startswith("done"):
            return yielded("early result")
        return [Use("find", paths=["*"])] if turn == 0 else [Wait(None)]

    async def first() -> Path:
        play = Play([[task("done", id="D")], [task("slow", id="S")], [Say("started")]], agent)
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await until(
                lambda: play.active == 1 and bool(session.team().result("D")), 5, lambda: "not started"
            )
            path = session.log.path
            assert path is not None
            copy = path.with_name(f"copy_{path.name}")
            shutil.copy(path, copy)
            shutil.copytree(path.with_suffix(""), copy.with_suffix(""))
            return copy

    async def second(path: Path) -> None:
        play = Play([[Say("ok")]], lambda assignment, turn: yielded("after the kill"))
        async with session_of(play, tmp_path, resume=str(path)) as session:
            await session.go_on(results=True)
            told = "\n".join(results_in(session))
            assert told.count("early result") == 1 and "S was interrupted" in told
            assert (await session.team().mail.send("Main", "S", "go on")).outcome == "revived"
            await settle(session)
            result = session.team().result("S")
            assert result is not None and result.output == "after the kill"

    asyncio.run(second(asyncio.run(first())))


def test_damaged_transcript_is_not_revived_silently(tmp_path: Path) -> None:
    async def first() -> Path:
        play = Play([[task("A", id="A")], [Say("started")]], lambda assignment, turn: yielded("alpha"))
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)
            session.team().log_path("A").with_suffix(".keep").touch()
            assert session.log.path is not None
            return session.log.path

    async def second(path: Path) -> None:
        (path.with_suffix("") / "A.jsonl").write_text("")
        play = Play([[Say("ok")]], lambda assignment, turn: yielded("new"))
        async with session_of(play, tmp_path, resume=str(path)) as session:
            receipt = await session.team().mail.send("Main", "A", "go on")
            assert receipt.outcome == "failed" and play.agent_requests == []

    asyncio.run(second(asyncio.run(first())))
