"""Messages queued while a run is about to end."""

import asyncio
from pathlib import Path

import pytest

from tau.agent.events import AgentSettled
from tau.ai.faux import Fail, Faux, Say, Use, Wait
from tau.ai.wire import BashExecutionMessage, UserMessage
from tau.base.errors import ProviderError, TauError
from tau.sdk import SessionOptions, create_session
from tests.coding.session.driver import Driver
from tests.coding.undo.undo_rig import make_repository
from tests.support.idle import until
from tests.support.limits import HANG_S


def test_message_queued_while_changes_are_recorded_is_processed(tmp_path: Path) -> None:
    faux = Faux([[Say("One.")], [Say("Two.")], [Say("Three.")]])

    async def main() -> None:
        async with create_session(SessionOptions(cwd=tmp_path, stream=faux.stream)) as session:
            noting, go = asyncio.Event(), asyncio.Event()
            recorder = session.recorder
            assert recorder is not None

            async def settle() -> None:
                noting.set()
                await go.wait()

            recorder.settle = settle  # type: ignore[method-assign]
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(session.prompt("first"))
                await noting.wait()
                session.steer("second")
                session.follow_up("third")
                go.set()
            outcome = running.result()
            assert outcome.message is not None and outcome.message.text == "Three."
            assert not session.busy and not session.queue.waiting()
            texts = [one.content for one in outcome.messages if isinstance(one, UserMessage)]
            assert texts == ["first", "second", "third"]

    asyncio.run(main())


def test_message_queued_after_a_stopped_run_waits(tmp_path: Path) -> None:
    faux = Faux([[Say("One.")], [Say("Two.")]])

    async def main() -> None:
        async with create_session(SessionOptions(cwd=tmp_path, stream=faux.stream)) as session:
            recorder = session.recorder
            assert recorder is not None

            async def settle() -> None:
                if not session.queue.waiting():
                    session.steer("second")
                    session.abort()

            recorder.settle = settle  # type: ignore[method-assign]
            await session.prompt("first")
            assert [item.text for item in session.queue.waiting()] == ["second"]

    asyncio.run(main())


def test_changes_of_a_stopped_command_are_recorded_without_another_run(tmp_path: Path) -> None:
    make_repository(tmp_path, {"a.txt": "one\n"})
    faux = Faux([[Use("bash", command="echo two > a.txt; sleep 999")]])

    async def main() -> None:
        options = SessionOptions(cwd=tmp_path, stream=faux.stream, settings={"tools.approvalMode": "yolo"})
        async with create_session(options) as session:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(session.prompt("go"))
                file = tmp_path / "a.txt"
                await until(lambda: file.read_text() == "two\n", HANG_S, lambda: "the command did not run")
                session.abort()
            assert running.result().aborted and session.recorder is not None
            undo = session.recorder.undo
            await until(lambda: bool(undo.turns()), HANG_S, lambda: "the change was not recorded")
            assert undo.apply(undo.plan()).clean

    asyncio.run(main())
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_command_run_while_a_failed_request_waits_was_not_recorded(tmp_path: Path) -> None:
    faux = Faux([[Fail(ProviderError("busy", status=529, retryable=True))]])

    async def main() -> None:
        options = SessionOptions(cwd=tmp_path, stream=faux.stream, settings={"retry.baseDelayMs": 60_000})
        async with create_session(options) as session:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(session.prompt("go"))
                await until(lambda: session.retry.waiting, HANG_S, lambda: "no retry")
                await session.bash("echo mine")
                assert [item.text for item in session.queue.waiting()] == ["echo mine"]
                session.retry.cancel_wait()
            assert running.result().error is not None
            assert isinstance(session.log.messages()[-1], BashExecutionMessage)
            assert not session.queue.waiting()

    asyncio.run(main())


def test_cancelled_run_settles_as_aborted_and_a_refused_one_does_not() -> None:
    async def main() -> None:
        driver = Driver([[Wait()]])
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(driver.runner.run(lambda: UserMessage("go", 1)))
            await until(lambda: bool(driver.faux.requests), HANG_S, lambda: "no request")
            running.cancel()
        assert running.cancelled() and driver.events[-1] == AgentSettled(True)
        with pytest.raises(TauError):
            await driver.runner.run(refuse)
        assert driver.events[-1] == AgentSettled(False)

    def refuse() -> UserMessage:
        raise TauError("not now")

    asyncio.run(main())
