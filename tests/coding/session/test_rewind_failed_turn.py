"""Retrying the last request: only what failed or was stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tau.agent.events import AgentEvent, MessageUpdate
from tau.ai.faux import Fail, Faux, FauxStep, Say, Use, Wait
from tau.ai.wire import AssistantMessage, UserMessage
from tau.base.errors import ProviderError, TauError
from tau.coding.session.session import Session
from tests.agent.agent_rig import until
from tests.coding.session.rig import scripted

BROKE = Fail(ProviderError("It broke."))


def with_session(
    folder: Path, script: list[list[FauxStep]], test: Callable[[Session, Faux], Awaitable[None]]
) -> None:
    async def main() -> None:
        opening, faux = scripted(script, folder, settings={"retry.enabled": False})
        async with opening as session:
            await test(session, faux)

    asyncio.run(main())


def log_texts(session: Session) -> list[str]:
    """The log's entries, on all branches."""
    found = []
    for _, entry in session.log.entries():
        message = getattr(entry, "message", None)
        if isinstance(message, UserMessage):
            found.append(str(message.content))
        elif isinstance(message, AssistantMessage):
            found.append(f"{message.stop_reason}: {message.text}")
    return found


def test_failed_request_is_resent_unchanged_and_only_the_answer_is_logged(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        moved: list[str] = []
        assert (await session.prompt("hello")).error is not None
        outcome = await session.go_on(moved=lambda: moved.append("moved"))
        assert outcome.message is not None and outcome.message.text == "Better now."
        assert log_texts(session) == ["hello", "error: ", "stop: Better now."] and not moved
        assert [message.content for message in faux.requests[1].messages] == ["hello"]

    with_session(tmp_path, [[BROKE], [Say("Better now.")]], test)


def test_partial_answer_is_left_on_its_own_branch(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        moved: list[str | None] = []
        events_about: list[AgentEvent] = []
        session.subscribe(events_about.append)
        running = asyncio.create_task(session.prompt("hello"))
        await until(lambda: any(isinstance(event, MessageUpdate) for event in events_about))
        session.abort()
        assert (await running).aborted
        outcome = await session.go_on(moved=lambda: moved.append(session.log.leaf))
        assert outcome.message is not None and outcome.message.text == "A whole one."
        assert log_texts(session) == ["hello", "aborted: Half an ans", "stop: A whole one."]
        assert [message.content for message in faux.requests[1].messages] == ["hello"]
        assert len(moved) == 1 and len(session.log.messages()) == 2

    with_session(tmp_path, [[Say("Half an ans"), Wait()], [Say("A whole one.")]], test)


def test_tool_results_are_part_of_the_request(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        (tmp_path / "a.txt").write_text("content of a")
        await session.prompt("read a")
        await session.go_on()
        assert "content of a" in str(faux.requests[2].messages[-1].content)

    with_session(tmp_path, [[Use("read", path="a.txt")], [BROKE], [Say("Read it.")]], test)


def test_queued_messages_are_processed_too(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        await session.prompt("hello")
        session.follow_up("and then this")
        outcome = await session.go_on()
        assert outcome.message is not None and outcome.message.text == "That as well."
        assert log_texts(session)[-3:] == ["stop: Better now.", "and then this", "stop: That as well."]

    with_session(tmp_path, [[BROKE], [Say("Better now.")], [Say("That as well.")]], test)


def test_only_a_failed_turn_can_be_retried(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        with pytest.raises(TauError, match="nothing to retry yet"):
            await session.go_on()
        await session.prompt("hello")
        leaf = session.log.leaf
        with pytest.raises(TauError, match="The last answer is complete"):
            await session.go_on()
        assert session.log.leaf == leaf and not session.busy and len(faux.requests) == 1

    with_session(tmp_path, [[Say("Fine.")]], test)


def test_busy_or_closed_session_refuses_to_retry(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        running = asyncio.create_task(session.prompt("hello"))
        await until(lambda: len(faux.requests) == 1)
        with pytest.raises(TauError, match="The agent is busy"):
            await session.go_on()
        await session.close()
        assert (await running).aborted
        with pytest.raises(TauError, match="This session is closed"):
            await session.go_on()

    with_session(tmp_path, [[Say("Working"), Wait()]], test)


def test_call_left_by_a_killed_tau_can_be_retried(tmp_path: Path) -> None:
    async def test(session: Session, faux: Faux) -> None:
        await session.prompt("read a")
        answer = next(node for node, entry in session.log.entries() if is_call(entry))
        session.log.move(answer.id)
        assert (await session.go_on()).error is None
        told = str(faux.requests[-1].messages[-1].content)
        assert "may have taken effect" in told or "Not run" in told

    with_session(tmp_path, [[Use("read", path="a.txt")], [Say("Gone.")], [Say("Read it.")]], test)


def is_call(entry: object) -> bool:
    message = getattr(entry, "message", None)
    return isinstance(message, AssistantMessage) and bool(message.tool_calls)
