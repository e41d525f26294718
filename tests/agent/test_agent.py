"""The loop alone, as a program uses it."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from tau.agent import event_stream
from tau.agent.agent import Agent
from tau.agent.event_stream import stream_events
from tau.agent.events import AgentEnd, AgentEvent, MessageEnd, MessageUpdate, Notice
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome
from tau.agent.loop_owner import EventListener
from tau.agent.output import ToolOutput
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.ai.dialect import Delta, ThinkingPiece
from tau.ai.faux import FAUX_MODEL, Act, Fail, Faux, Say, Think, Use, Wait
from tau.ai.stream_events import TextDelta
from tau.ai.wire import AssistantMessage, ImageContent, TextContent, ToolResultMessage, UserMessage
from tau.base.errors import ProviderError, TauError
from tests.agent.agent_rig import Echo, EchoParams, Sleep, agent, names, until


def test_agent_needs_only_a_model() -> None:
    async def main() -> None:
        alone = Agent(model=FAUX_MODEL, stream=Faux([[Say("Hi.")]]).stream)
        outcome = await alone.prompt("hello")
        assert outcome.message is not None and outcome.message.text == "Hi."
        assert [type(message) for message in alone.messages] == [UserMessage, AssistantMessage]

    asyncio.run(main())


def test_tool_that_needs_a_world_says_so_without_one() -> None:
    class Reader(Tool[EchoParams]):
        name, label, description = "reader", "Reader", "Reads."

        async def run(self, params: EchoParams, ctx: Any) -> ToolOutput:
            return ToolOutput.text(str(await ctx.fs.read("x")))

    async def main() -> None:
        faux = Faux([[Use("reader")], [Say("I see.")]])
        alone = Agent(model=FAUX_MODEL, stream=faux.stream, tools=[Reader()])
        await alone.prompt("go")
        [result] = [message for message in alone.messages if isinstance(message, ToolResultMessage)]
        assert result.is_error and "without a world" in str(result.content)

    asyncio.run(main())


def test_agent_continues_from_a_history() -> None:
    async def main() -> None:
        made, faux, _ = agent([[Fail(ProviderError("busy"))], [Say("Well.")]])
        assert (await made.prompt("go")).error is not None
        outcome = await made.go_on()
        assert outcome.message is not None and outcome.message.text == "Well."
        assert faux.requests[1].messages == faux.requests[0].messages
        again = Agent(model=FAUX_MODEL, stream=faux.stream, messages=made.messages)
        image = ImageContent("aGk=", "image/png")
        await again.prompt("more", [image])
        assert len(faux.requests[2].messages) == 3
        last = faux.requests[2].messages[-1]
        assert isinstance(last, UserMessage) and last.content == [TextContent("more"), image]

    asyncio.run(main())


def test_busy_agent_refuses_a_second_prompt_but_queues() -> None:
    async def main() -> None:
        made, faux, _ = agent([[Wait(0.02), Say("one")], [Say("two")], [Say("three")]])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await asyncio.sleep(0)
            assert made.busy
            with pytest.raises(TauError, match="is busy"):
                await made.prompt("again")
            made.follow_up("last")
            made.steer("first")
        assert [
            message.content for message in running.result().messages if isinstance(message, UserMessage)
        ] == [*("go", "first", "last")]
        assert not made.busy and len(faux.requests) == 3

    asyncio.run(main())


def test_hook_may_swallow_the_prompt() -> None:
    class Deaf(Hooks):
        async def input(self, message: UserMessage) -> UserMessage | None:
            return None

    async def main() -> None:
        made, faux, _ = agent([[Say("x")]], hooks=Deaf())
        assert (await made.prompt("go")).message is None
        assert faux.requests == [] and made.messages == []

    asyncio.run(main())


def test_failing_listener_does_not_fail_the_run_and_can_unsubscribe_twice() -> None:
    async def main() -> None:
        made, _, events = agent([[Say("x")]])
        stop = made.subscribe(lambda event: 1 / 0)  # type: ignore[arg-type,return-value]
        assert (await made.prompt("go")).error is None
        stop()
        stop()
        assert names(events)[-1] == "agent_end"
        heard: list[AgentEvent] = []
        made.subscribe(heard.append)()
        await made.prompt("go")
        assert heard == []

    asyncio.run(main())


def test_settings_change_between_requests() -> None:
    async def main() -> None:
        made, faux, _ = agent(
            [[Act(lambda: made.configure(system="new")), Use("echo")], [Say("x")]], [Echo()]
        )
        await made.prompt("go")
        assert [request.system for request in faux.requests] == ["", "new"]

    asyncio.run(main())


def test_a_stream_yields_every_event_in_order() -> None:
    async def main() -> None:
        made, _, events = agent([[Say("I'll look.", 3), Use("echo", text="x")], [Say("Done.")]], [Echo()])
        assert [event async for event in made.stream("go")] == events
        assert names(events)[-1] == "agent_end"
        [event async for event in made.stream("again")]

    asyncio.run(main())


def test_stream_raises_the_error_after_the_events() -> None:
    async def main() -> None:
        error = ProviderError("the server is on fire")
        made, _, _ = agent([[Say("Well"), Fail(error)]])
        seen: list[AgentEvent] = []
        with pytest.raises(ProviderError, match="on fire"):
            async for event in made.stream("go"):
                seen.append(event)
        assert isinstance(seen[-1], AgentEnd)
        made, _, _ = agent([[Wait()]])
        async with aclosing(made.stream("go")) as events:
            await anext(events)
            with pytest.raises(TauError, match="is busy"):
                async for _ in made.stream("second"):
                    pass

    asyncio.run(main())


@pytest.mark.parametrize("busy_with", ["answer", "tool"])
def test_leaving_a_stream_early_stops_and_records_the_run(busy_with: str) -> None:
    async def main() -> None:
        sleep = Sleep()
        script = [[Say("Half"), Wait()]] if busy_with == "answer" else [[Say("Half"), Use("sleep")]]
        made, _, events = agent(script, [sleep])
        async with aclosing(made.stream("go")) as stream:
            async for event in stream:
                if isinstance(event, MessageUpdate) and busy_with == "answer":
                    break
                if names([event]) == ["tool_execution_start"]:
                    await sleep.began.wait()
                    break
        assert not made.busy and sleep.running == 0
        assert names(events)[-2:] == ["turn_end", "agent_end"]
        assert len(made.messages) == (2 if busy_with == "answer" else 3)

    asyncio.run(main())


def test_breaking_out_of_the_loop_stops_the_run() -> None:
    async def main() -> None:
        made, _, _ = agent([[Say("Half"), Wait()]])
        async for event in made.stream("go"):
            if isinstance(event, MessageUpdate):
                break
        await until(lambda: not made.busy)
        last = made.messages[-1]
        assert isinstance(last, AssistantMessage) and last.stop_reason == "aborted"

    asyncio.run(main())


def test_cancelling_the_reader_stops_the_run() -> None:
    async def main() -> None:
        made, _, events = agent([[Say("Half"), Wait()]])

        async def read() -> None:
            async for _ in made.stream("go"):
                pass

        task = asyncio.ensure_future(read())
        await until(lambda: any(isinstance(event, MessageUpdate) for event in events))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not made.busy
        assert isinstance(made.messages[-1], AssistantMessage)

    asyncio.run(main())


def test_exception_in_the_readers_code_propagates() -> None:
    async def main() -> None:
        made, _, _ = agent([[Say("Half"), Wait()]])
        with pytest.raises(KeyError, match="mine"):
            async with aclosing(made.stream("go")) as stream:
                async for _ in stream:
                    raise KeyError("mine")
        assert not made.busy

    asyncio.run(main())


def test_idle_agent_may_be_aborted_and_works_afterwards() -> None:
    made, _, _ = agent([[Say("x")]])
    made.abort()
    assert not asyncio.run(made.prompt("go")).aborted


def test_given_queue_is_used() -> None:
    queue = Queue("all", "all")
    made = Agent(model=FAUX_MODEL, stream=Faux([[Say("x")]]).stream, queue=queue)
    made.follow_up("first")
    assert made.queue is queue and len(queue) == 1


def test_reader_may_lag_by_twenty_thousand_events_before_deltas_are_dropped() -> None:
    async def read(count: int) -> tuple[list[AgentEvent], list[str]]:
        listeners: list[EventListener] = []
        left: list[str] = []

        def subscribe(listener: EventListener) -> Callable[[], None]:
            listeners.append(listener)
            return lambda: left.append("gone")

        async def work() -> Outcome:
            for _ in range(count):
                listeners[0](piece)
            return Outcome(message=None, messages=[])

        return [event async for event in stream_events(subscribe, work)], left

    piece = MessageUpdate(TextDelta(0, "x"))
    seen, left = asyncio.run(read(20_000))
    assert len(seen) == 20_000 and left == ["gone"]
    seen, _ = asyncio.run(read(20_002))
    assert len(seen) == 20_001 and isinstance(seen[-1], Notice)


def test_slow_reader_is_notified_and_misses_only_deltas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_LAG", 10)

    async def main() -> None:
        made, _, events = agent([[Say("x" * 100, 100)]])
        seen = []
        async for event in made.stream("go"):
            seen.append(event)
            await asyncio.sleep(0.01 if len(seen) == 1 else 0)
        assert len(seen) < len(events)
        assert len([event for event in seen if isinstance(event, Notice)]) == 1
        ended = [event.message for event in seen if isinstance(event, MessageEnd)]
        assert isinstance(ended[-1], AssistantMessage)
        assert ended[-1].content == [TextContent("x" * 100)]

    asyncio.run(main())


def test_watch_of_an_answer_sees_only_the_kinds_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Delta] = []

    class ThinkingWatch:
        kinds = frozenset({ThinkingPiece})

        async def check(self, delta: Delta) -> None:
            seen.append(delta)

    made, _, _ = agent([[Think("hm", "sig"), Say("ok")]])
    monkeypatch.setattr(type(made._owner), "watch_answer", lambda owner: ThinkingWatch())
    asyncio.run(made.prompt("go"))
    assert seen and {type(delta) for delta in seen} == {ThinkingPiece}
