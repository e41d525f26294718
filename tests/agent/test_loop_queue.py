"""Messages queued while the loop runs: when they join it, and what becomes of them if it ends early."""

import asyncio
from itertools import pairwise

import pytest

from tau.agent.call_runner import NOT_STARTED, SKIPPED, UNFINISHED
from tau.ai.faux import Act, Fail, Say, Use, Wait
from tau.ai.wire import (
    AppMessage,
    BashExecutionMessage,
    CustomMessage,
    UserMessage,
)
from tau.base.errors import ProviderError, SessionError
from tests.agent.agent_rig import Alone, Echo, Sleep, agent, names, results, text_of, until


def test_steering_comes_between_turns_and_skips_calls_that_have_not_started() -> None:
    async def main() -> None:
        alone = Alone()
        script = [[Use("alone", text="0.01"), Use("alone", text="0.01")], [Say("All right.")]]
        made, faux, _ = agent(script, [alone])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await alone.began.wait()
            made.queue.steer(UserMessage("Stop that.", 1))
        first, second = results(running.result().messages)
        assert text_of(first) == "slept"
        assert "new message" in text_of(second)
        last = faux.requests[1].messages[-1]
        assert isinstance(last, UserMessage) and last.content == "Stop that."

    asyncio.run(main())


def test_steering_skips_calls_waiting_beside_others() -> None:
    async def main() -> None:
        sleep = Sleep()
        calls = [Use("sleep", text="0.01") for _ in range(20)]
        made, _, _ = agent([calls, [Say("All right.")]], [sleep])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await sleep.began.wait()
            made.steer("Stop that.")
        found = [text_of(result) for result in results(running.result().messages)]
        assert found.count("slept") == 16
        assert found.count(SKIPPED) == 4

    asyncio.run(main())


@pytest.mark.parametrize(("tool", "begun"), [("sleep", 16), ("alone", 1)])
def test_calls_not_started_at_an_abort_say_so_even_if_a_message_waits(tool: str, begun: int) -> None:
    async def main() -> None:
        tools = {"sleep": Sleep(), "alone": Alone()}
        made, _, _ = agent([[Use(tool) for _ in range(18)]], list(tools.values()))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await until(lambda: tools[tool].running == begun)
            made.steer("Stop that.")
            made.abort()
        found = [text_of(result) for result in results(running.result().messages)]
        assert (found.count(UNFINISHED), found.count(NOT_STARTED)) == (begun, 18 - begun)

    asyncio.run(main())


def test_steering_mode_wait_lets_all_calls_run() -> None:
    async def main() -> None:
        alone = Alone()
        script = [[Use("alone", text="0.01"), Use("alone", text="0.01")], [Say("All right.")]]
        made, faux, _ = agent(script, [alone])
        made.configure(interrupt_mode="wait")
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await alone.began.wait()
            made.steer("And then?")
        assert [text_of(result) for result in results(running.result().messages)] == ["slept", "slept"]
        last = faux.requests[1].messages[-1]
        assert isinstance(last, UserMessage) and last.content == "And then?"

    asyncio.run(main())


def test_asides_join_the_next_turn_or_start_one() -> None:
    async def main() -> None:
        def aside(text: str) -> Act:
            return Act(lambda: made.queue.aside(CustomMessage("job", text, True, 1)))

        script = [
            [aside("job 1"), Use("echo")],
            [aside("job 2"), Act(lambda: made.steer("and you"))],
            [aside("job 3"), Act(lambda: made.follow_up("finally"))],
            [aside("job 4")],
            [Say("Done.")],
        ]
        made, faux, _ = agent(script, [Echo()])
        await made.prompt("go")
        new = [
            [
                message.content
                for message in later.messages[len(sooner.messages) :]
                if isinstance(message, UserMessage)
            ]
            for sooner, later in pairwise(faux.requests)
        ]
        assert new == [["job 1"], ["and you", "job 2"], ["job 3", "finally"], ["job 4"]]

    asyncio.run(main())


def test_user_command_during_a_turn_is_recorded_after_its_results() -> None:
    async def main() -> None:
        def run(command: str) -> Act:
            return Act(lambda: made.queue.hold(BashExecutionMessage(command, "", 0, False, False, 1)))

        script = [[run("ls"), Use("echo"), Use("echo")], [run("pwd")]]
        made, faux, _ = agent(script, [Echo()])
        await made.prompt("go")
        assert [type(message).__name__ for message in made.messages] == [
            *("UserMessage", "AssistantMessage", "ToolResultMessage", "ToolResultMessage"),
            *("BashExecutionMessage", "AssistantMessage", "BashExecutionMessage"),
        ]
        assert len(faux.requests) == 2
        assert made.queue.waiting() == []

    asyncio.run(main())


def test_user_command_of_a_cancelled_run_comes_with_the_next_run() -> None:
    async def main() -> None:
        held = BashExecutionMessage("ls", "", 0, False, False, 1)
        made, _, _ = agent([[Act(lambda: made.queue.hold(held)), Wait()], [Say("x")]])
        task = asyncio.ensure_future(made.prompt("go"))
        await until(made.queue.waiting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await made.prompt("again")
        assert [type(message).__name__ for message in made.messages[1:4]] == [
            *("AssistantMessage", "BashExecutionMessage", "UserMessage")
        ]

    asyncio.run(main())


def test_messages_that_could_not_be_recorded_are_queued_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        made, _, events = agent([[Say("x")]])
        made.queue.follow_up_mode = "all"
        record = made._owner.record

        def full_disk(message: AppMessage) -> None:
            if isinstance(message, UserMessage) and message.content == "two":
                raise SessionError("no space left")
            record(message)

        monkeypatch.setattr(type(made._owner), "record", lambda owner, message: full_disk(message))
        for text in ("one", "two", "three"):
            made.follow_up(text)
        with pytest.raises(SessionError):
            await made.prompt("go")
        assert [item.text for item in made.queue.waiting()] == ["two", "three"]
        assert names(events).count("turn_start") == names(events).count("turn_end")

    asyncio.run(main())


def test_failed_run_keeps_the_queue() -> None:
    made, _, _ = agent([[Fail(ProviderError("down"))]])
    made.steer("one")
    made.follow_up("two")

    asyncio.run(made.prompt("go"))

    assert [item.text for item in made.queue.waiting()] == ["one", "two"]


def test_follow_ups_wait_until_the_agent_would_stop() -> None:
    made, faux, _ = agent([[Use("echo", text="x")], [Say("Done.")], [Say("And that.")]], [Echo()])
    made.queue.follow_up(UserMessage("Then that.", 1))

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.message is not None and outcome.message.text == "And that."
    assert len(faux.requests) == 3
    last = faux.requests[2].messages[-1]
    assert isinstance(last, UserMessage) and last.content == "Then that."


def test_abort_keeps_the_queue() -> None:
    async def main() -> None:
        made, _, _ = agent([[Act(lambda: made.abort()), Wait()], [Say("ok")]])
        made.queue.follow_up(UserMessage("Later.", 1))
        await made.prompt("go")
        assert len(made.queue) == 1

    asyncio.run(main())
