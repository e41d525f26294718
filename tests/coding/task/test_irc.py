"""irc: each message arrives once; waits end when nothing can come."""

import asyncio
from pathlib import Path

from tau.ai.faux import Say, Use, Wait
from tau.ai.wire import CustomMessage
from tests.coding.task.play import Play, finish, results_in, session_of, task, text_in, yielded
from tests.support.idle import until


def test_message_wakes_an_idle_agent_which_remembers(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return yielded("first") if turn == 0 else [Say("second answer")]

    play = Play([[task("x", id="X")], [Say("ok")]], agent)

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)
            assert session.team is not None
            receipt = await session.team().mail.send("Main", "x", "and more?")
            assert (receipt.to, receipt.outcome) == ("X", "woken")
            await until(lambda: len(play.agent_requests) == 2, 5, lambda: "not woken")
            assert "and more?" in str(play.agent_requests[1].messages[-1])

    asyncio.run(main())


def test_agent_reports_to_main_once(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return [Use("irc", op="send", to="Main", message="found it")] if turn == 0 else yielded()

    play = Play([[task("x", id="X")], [Say("ok")]], agent)

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)
            texts = [text_in(one) for one in session.log.messages() if isinstance(one, CustomMessage)]
            assert sum("found it" in text for text in texts) == 1

    asyncio.run(main())


def test_waiting_for_a_blocked_caller_fails_at_once(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        if turn == 0:
            return [Use("irc", op="send", to="Main", message="what now?", **{"await": True, "timeoutMs": 0})]
        return yielded("gave up waiting")

    play = Play([[task("x")], [Say("ok")]], agent)

    async def main() -> None:
        async with session_of(play, tmp_path, settings={"async.enabled": False}) as session:
            await session.prompt("go")
            assert "gave up waiting" in results_in(session)[0]
            assert "would never end" in str(play.agent_requests[1].messages[-1])

    asyncio.run(main())


def test_wait_ends_when_the_peer_stops_without_a_message(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        if assignment.startswith("waiter"):
            if turn == 0:
                return [Use("irc", op="wait", timeoutMs=0, **{"from": "B"})]
            return yielded("waited")
        return [Wait(0.05), *yielded("silent")]

    tasks = [{"assignment": "worker", "id": "B"}, {"assignment": "waiter", "id": "A"}]
    play = Play([[Use("task", agent="task", context="c", tasks=tasks)], [Say("ok")]], agent)

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)
            assert any("waited" in text for text in results_in(session))
            asked = next(
                one for one in play.agent_requests if "B stopped without a message" in str(one.messages[-1])
            )
            assert asked

    asyncio.run(main())


def test_inbox_drops_the_oldest_above_a_hundred_and_says_so(tmp_path: Path) -> None:
    play = Play([[task("x", id="X")], [Say("ok")]], lambda assignment, turn: [Wait(None)])

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await until(lambda: play.active == 1, 5, lambda: "not started")
            assert session.team is not None
            mail = session.team().mail
            receipts = [await mail.send("Main", "X", f"m{number}") for number in range(101)]
            assert {one.outcome for one in receipts} == {"injected"}
            assert "dropped" in str(receipts[-1].error)
            bodies = [one.body for one in mail.take("X")]
            assert bodies[0] == "m1" and len(bodies) == 100 and mail.unread("X") == 0

    asyncio.run(main())


def test_unknown_recipient_is_an_error(tmp_path: Path) -> None:
    play = Play([[Use("irc", op="send", to="nobody", message="x")], [Say("ok")]], lambda assignment, turn: [])

    async def main() -> str:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            return str(session.log.messages()[2])

    assert "nobody: failed" in asyncio.run(main())


def test_messages_cost_nothing_before_there_is_an_agent_to_send_to(tmp_path: Path) -> None:
    play = Play([[Say("hi")], [task("x", id="X")], [Say("ok")]], lambda assignment, turn: yielded())

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("hello")
            assert "irc" in {tool.name for tool in session.setup().tools}
            assert "irc" not in {tool.name for tool in session.setup().offered_tools()}
            await session.prompt("go")
            await finish(session)
            assert "irc" in {tool.name for tool in session.setup().offered_tools()}

    asyncio.run(main())
    assert "irc" in {tool.name for tool in play.agent_requests[0].tools}
