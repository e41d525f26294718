"""What happens in a run, as seen by its owner and a listener."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tau.agent import events as e
from tau.agent.agent import Agent
from tau.agent.call_runner import NOT_STARTED, SKIPPED, STOPPED, UNFINISHED
from tau.agent.effects import Effects
from tau.agent.hooks import Hooks, ToolQuestion
from tau.ai.assembler import MAX_CALLS, TOO_MANY
from tau.ai.dialect import Delta, Request, TextPiece
from tau.ai.faux import FAUX_MODEL, Act, Count, Fail, Say, Stop, Think, Use, Wait
from tau.ai.model import Model
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    ToolResultMessage,
    UserMessage,
)
from tau.base.errors import ProviderError, SessionError
from tests.agent.agent_rig import Alone, Broken, Echo, Sleep, agent, names, results, text_of


def test_tool_call_and_answer_events_come_in_the_documented_order() -> None:
    made, _, events = agent([[Say("I'll look.", 2), Use("echo", text="x")], [Say("Done.")]], [Echo()])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.message is not None and outcome.message.text == "Done."
    assert outcome.message.error_message is UNSET
    assert [name for name in names(events) if name != "message_update"] == [
        "agent_start",
        "turn_start",
        *("message_start", "message_end"),  # the user's
        *("message_start", "message_end"),  # the assistant's
        *("tool_execution_start", "tool_execution_update", "tool_execution_end"),
        *("message_start", "message_end"),  # the result
        "turn_end",
        "turn_start",
        *("message_start", "message_end"),
        "turn_end",
        "agent_end",
    ]
    updates = [event.assistant_message_event for event in events if isinstance(event, e.MessageUpdate)]
    assert names(updates)[:8] == [
        *("text_start", "text_delta", "text_delta", "text_end"),
        *("toolcall_start", "toolcall_delta", "toolcall_delta", "toolcall_delta"),
    ]


def test_the_next_request_carries_the_whole_history() -> None:
    made, faux, _ = agent([[Use("echo", text="x")], [Say("Done.")]], [Echo()])

    asyncio.run(made.prompt("go"))

    assert [type(message) for message in faux.requests[1].messages] == [
        UserMessage,
        AssistantMessage,
        ToolResultMessage,
    ]
    assert faux.requests[1].messages[:1] == faux.requests[0].messages


def test_calls_run_in_parallel_but_an_exclusive_one_runs_alone() -> None:
    async def main() -> tuple[Sleep, Sleep]:
        sleep, alone = Sleep(), Alone()
        calls = [Use(name, text="0.01") for name in ("sleep", "sleep", "alone", "alone", "sleep")]
        made, _, _ = agent([calls, [Say("ok")]], [sleep, alone])
        outcome = await made.prompt("go")
        assert [text_of(result) for result in results(outcome.messages)] == ["slept"] * 5
        return sleep, alone

    sleep, alone = asyncio.run(main())
    assert sleep.most_at_once == 2
    assert alone.most_at_once == 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Use("nothing"), 'There is no tool named "nothing". Tools: echo, broken.'),
        (Use("broken", text="politely"), "no luck"),
        (Use("broken"), "broken failed: ZeroDivisionError: oops"),
        (Use("echo", text="cut off", cut=9), "not valid JSON"),
        (Use("echo", text=["a", "list"]), "text"),
    ],
)
def test_failure_in_a_call_becomes_a_result_the_model_can_read(call: Use, expected: str) -> None:
    made, faux, _ = agent([[call], [Say("I see.")]], [Echo(), Broken()])

    outcome = asyncio.run(made.prompt("go"))

    [result] = results(outcome.messages)
    assert result.is_error
    assert expected in text_of(result)
    assert len(faux.requests) == 2


def test_unknown_parameters_are_ignored_and_reported() -> None:
    made, _, _ = agent([[Use("echo", text="x", color="red")], [Say("ok")]], [Echo()])

    [result] = results(asyncio.run(made.prompt("go")).messages)

    assert text_of(result) == "echo: x[Ignored unknown parameters: color]"


def test_call_cut_off_by_the_length_limit_never_runs() -> None:
    made, _, _ = agent([[Use("echo", text="whole"), Stop("length")], [Say("ok")]], [Echo()])

    [result] = results(asyncio.run(made.prompt("go")).messages)

    assert result.is_error
    assert "length limit (max_tokens)" in text_of(result)


def test_repeatedly_truncated_model_is_stopped() -> None:
    made, faux, _ = agent([[Use("echo", text="whole"), Stop("length")]], [Echo()])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.error is not None and "3 times in a row" in str(outcome.error)
    assert len(faux.requests) == 3


def test_complete_answer_resets_the_truncation_count() -> None:
    cut, whole = [Use("echo", text="whole"), Stop("length")], [Use("echo", text="whole")]
    made, faux, _ = agent([cut, cut, whole, cut], [Echo()])

    assert asyncio.run(made.prompt("go")).error is not None
    assert len(faux.requests) == 6


def test_abort_during_an_answer_keeps_the_partial_text() -> None:
    async def main() -> None:
        made, _, events = agent([[Say("Half an ans"), Act(lambda: made.abort()), Wait()]])
        outcome = await made.prompt("go")
        assert outcome.aborted
        assert outcome.message is not None
        assert (outcome.message.text, outcome.message.stop_reason) == ("Half an ans", "aborted")
        assert outcome.message.error_message == "Interrupted by the user."
        assert names(events)[-4:] == ["message_update", "message_end", "turn_end", "agent_end"]
        updates = [event.assistant_message_event for event in events if isinstance(event, e.MessageUpdate)]
        assert names(updates)[-1] == "text_end"
        assert made.messages[-1] == outcome.message

    asyncio.run(main())


def test_abort_stops_running_tools_and_every_call_gets_a_result() -> None:
    async def main() -> None:
        sleep = Sleep()
        alone = Alone()
        made, faux, events = agent([[Use("sleep"), Use("sleep"), Use("alone")]], [sleep, alone])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await sleep.began.wait()
            made.abort()
        outcome = running.result()
        assert outcome.aborted and sleep.running == 0 and alone.most_at_once == 0
        assert len(results(outcome.messages)) == 3
        assert all(result.is_error for result in results(outcome.messages))
        assert names(events).count("tool_execution_start") == names(events).count("tool_execution_end") == 3
        assert len(faux.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("effects", "wanted"),
    [
        (Effects(), UNFINISHED),
        (Effects(reads=(Path("/a"),)), UNFINISHED),
        (Effects(writes=(Path("/a"),)), STOPPED),
        (Effects(runs=("make",)), STOPPED),
        (Effects(network=("*",)), STOPPED),
    ],
)
def test_stopped_call_says_what_it_may_have_done(effects: Effects, wanted: str) -> None:
    class Acting(Sleep):
        def effects(self, params: Any, cwd: Path) -> Effects:
            return effects

    async def main() -> None:
        tool = Acting()
        made, _, _ = agent([[Use("sleep")]], [tool])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(made.prompt("go"))
            await tool.began.wait()
            made.abort()
        assert [text_of(result) for result in results(running.result().messages)] == [wanted]

    asyncio.run(main())


def test_call_stopped_during_approval_did_not_run() -> None:
    class Asking(Hooks):
        async def before_tool(self, question: ToolQuestion) -> str | None:
            made.abort()
            await asyncio.Event().wait()
            raise AssertionError

    made, _, _ = agent([[Use("echo"), Use("echo")]], [Echo()], Asking())
    outcome = asyncio.run(made.prompt("go"))
    assert [text_of(result) for result in results(outcome.messages)] == [NOT_STARTED, NOT_STARTED]
    assert all(result.is_error for result in results(outcome.messages))


def test_outside_cancellation_propagates_after_everything_is_recorded() -> None:
    async def main() -> None:
        sleep = Sleep()
        made, _, events = agent([[Use("sleep")]], [sleep])
        task = asyncio.ensure_future(made.prompt("go"))
        await sleep.began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names(events)[-2:] == ["turn_end", "agent_end"]
        assert [text_of(result) for result in results(made.messages)] == [UNFINISHED]
        assert names(events).count("tool_execution_start") == 1

    asyncio.run(main())


def test_failed_request_ends_the_run_with_the_reason() -> None:
    error = ProviderError("the server is on fire", status=500, retryable=True)
    made, _, events = agent([[Say("Well"), Fail(error)]])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.error is error
    assert outcome.message is not None
    assert outcome.message.stop_reason == "error"
    assert outcome.message.error_message == "the server is on fire"
    assert names(events)[-1] == "agent_end"


def test_internal_error_is_reported_in_a_sentence() -> None:
    made, _, _ = agent([[Fail(KeyError("x"))]])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.error is not None and "KeyError" in str(outcome.error)


def test_model_repeating_a_failing_call_is_warned_and_then_stopped() -> None:
    made, faux, _ = agent([[Use("broken", text="politely")]], [Broken()])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.error is not None and "same failing call of broken 10 times" in str(outcome.error)
    assert len(faux.requests) == 10
    wanted = ["failed" in text_of(result) for result in results(outcome.messages)]
    assert wanted == [False] * 4 + [True] * 6


def test_answer_with_too_many_calls_runs_none_and_is_read_no_further() -> None:
    ran: list[str] = []

    class Noting(Echo):
        async def run(self, params: Any, ctx: Any) -> Any:
            ran.append(ctx.call_id)
            return await super().run(params, ctx)

    calls: list[Any] = [Use("echo", text=str(number)) for number in range(MAX_CALLS)]
    too_many = [[*calls, *(Use("echo", text="more") for _ in range(20_000))], [Say("Fewer, then.")]]
    made, faux, _ = agent(too_many, [Noting()])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.error is None and len(faux.requests) == 2 and not ran
    texts = {text_of(result) for result in results(outcome.messages)}
    assert len(results(outcome.messages)) == MAX_CALLS
    assert texts == {f"This call of echo cannot run: {TOO_MANY}."}

    made, _, _ = agent([calls, [Say("Done.")]], [Noting()])
    assert asyncio.run(made.prompt("go")).error is None and len(ran) == MAX_CALLS


def test_failures_between_successful_calls_are_not_repetitions() -> None:
    script = [[Use("broken", text="politely")], [Use("echo")]] * 12 + [[Say("Done.")]]
    made, _, _ = agent(script, [Broken(), Echo()])

    outcome = asyncio.run(made.prompt("go"))

    assert outcome.error is None
    assert not any("times in a row" in text_of(result) for result in results(outcome.messages))


def test_alternating_failures_are_repetitions_too() -> None:
    script = [[Use("broken", text="politely")], [Use("broken", text="loudly")]] * 30
    made, faux, _ = agent(script, [Broken()])

    assert asyncio.run(made.prompt("go")).error is not None
    assert len(faux.requests) == 19


def test_skipped_calls_do_not_count_as_repetitions() -> None:
    async def main() -> None:
        script = [[Act(lambda: made.steer("wait")), *[Use("echo") for _ in range(12)]], [Say("All right.")]]
        made, _, _ = agent(script, [Echo()])
        outcome = await made.prompt("go")
        assert outcome.error is None
        assert {text_of(result) for result in results(outcome.messages)} == {SKIPPED}

    asyncio.run(main())


def test_hooks_may_change_the_request_refuse_a_call_and_rewrite_a_result() -> None:
    class Strict(Hooks):
        async def before_request(self, request: Request) -> Request:
            return Request(system="changed", messages=request.messages, tools=[], max_tokens=1)

        async def before_tool(self, question: ToolQuestion) -> str | None:
            return "not today" if question.call.arguments["text"] == "no" else None

        async def after_tool(self, call: Any, output: Any) -> Any:
            return type(output).text(text_of_output(output).upper(), is_error=output.is_error)

    def text_of_output(output: Any) -> str:
        return "".join(part.text for part in output.content)

    made, faux, _ = agent(
        [[Use("echo", text="no"), Use("echo", text="yes")], [Say("ok")]], [Echo()], Strict()
    )

    outcome = asyncio.run(made.prompt("go"))

    assert {text_of(result) for result in results(outcome.messages)} == {"NOT TODAY", "ECHO: YES"}
    assert faux.requests[0].system == "changed"


def test_run_stops_when_it_cannot_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _, events = agent([[Use("echo", text="a"), Use("echo", text="b")], [Say("ok")]], [Echo()])
    record = made._owner.record

    def full_disk(message: AppMessage) -> None:
        if isinstance(message, ToolResultMessage):
            raise SessionError("no space left")
        record(message)

    monkeypatch.setattr(type(made._owner), "record", lambda owner, message: full_disk(message))

    with pytest.raises(SessionError, match="no space left"):
        asyncio.run(made.prompt("go"))
    assert names(events)[-2:] == ["turn_end", "agent_end"]


def test_usage_and_thinking_arrive_in_the_message() -> None:
    made, _, _ = agent([[Think("hm", "sig"), Say("ok"), Count(input=10, output=2, cache_read=3)]])

    message = asyncio.run(made.prompt("go")).message

    assert message is not None
    assert (message.usage.input, message.usage.output, message.usage.cache_read) == (10, 2, 3)
    assert [part.__struct_config__.tag for part in message.content] == ["thinking", "text"]


def test_calls_of_a_failed_or_finished_answer_never_run() -> None:
    for ending in (Fail(ProviderError("down")), Stop("stop")):
        made, _, events = agent([[Use("echo", text="x"), ending]], [Echo()])
        asyncio.run(made.prompt("go"))
        assert "tool_execution_start" not in names(events)


def test_answer_without_an_end_is_a_transient_error() -> None:
    async def stream(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        yield TextPiece("Half")

    made = Agent(model=FAUX_MODEL, stream=stream)
    outcome = asyncio.run(made.prompt("go"))
    assert isinstance(outcome.error, ProviderError) and outcome.error.retryable
    assert str(outcome.error) == "The answer ended before it was complete."
    assert outcome.message is not None and outcome.message.text == "Half"


def test_demo_model_gets_short_tool_descriptions() -> None:
    class Wordy(Echo):
        description = "Says it back.\n\nAnd much more about it."

    for is_demo in (True, False):
        made, faux, _ = agent([[Say("x")]], [Wordy()])
        made.configure(model=replace(FAUX_MODEL, demo=is_demo))
        asyncio.run(made.prompt("go"))
        [spec] = faux.requests[0].tools
        assert ("much more" in spec.description) != is_demo
