"""Messages queued while a run is about to end."""

import asyncio
from pathlib import Path

from tau.ai.faux import Faux, Say
from tau.ai.wire import UserMessage
from tau.sdk import SessionOptions, create_session


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
