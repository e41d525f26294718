"""Edge cases of tool calls: details, failing hooks, broken tools, nested calls, repeated failures."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.agent import events as e
from tau.agent.call_context import CallContext, World
from tau.agent.call_runner import FailedCalls
from tau.agent.effects import Effects
from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.ai.faux import Say, Use
from tau.ai.wire import (
    AppMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
)
from tau.base.errors import SessionError, ToolError
from tests.agent.agent_rig import Broken, Echo, agent, names
from tests.agent.test_loop import results, text_of


def test_result_has_its_details_and_an_error_is_text() -> None:
    made, _, events = agent(
        [[Use("echo", text="x"), Use("broken", text="politely")], [Say("ok")]], [Echo(), Broken()]
    )
    asyncio.run(made.prompt("go"))
    ends = {event.tool_name: event for event in events if isinstance(event, e.ToolEnd)}
    assert ends["echo"].result == e.ToolResult([TextContent("echo: x")])
    assert ends["broken"].result == "no luck"
    assert (ends["echo"].is_error, ends["broken"].is_error) == (False, True)


def test_details_of_a_failed_call_were_not_in_its_event() -> None:
    class Partial(Echo):
        async def run(self, params: Any, ctx: Any) -> ToolOutput:
            return ToolOutput.text("half", {"done": 1}, is_error=True)

    made, _, events = agent([[Use("echo", text="x")], [Say("ok")]], [Partial()])
    asyncio.run(made.prompt("go"))
    (end,) = [event for event in events if isinstance(event, e.ToolEnd)]
    assert end.is_error and end.result == e.ToolResult([TextContent("half")], {"done": 1})


def test_failing_after_call_hook_leaves_the_output() -> None:
    class Failing(Hooks):
        async def after_tool(self, call: Any, output: Any) -> Any:
            raise KeyError("hook")

    made, _, _ = agent([[Use("echo", text="x")], [Say("ok")]], [Echo()], Failing())
    [result] = results(asyncio.run(made.prompt("go")).messages)
    assert (text_of(result), result.is_error) == ("echo: x", False)


def test_tool_that_returns_something_else_is_called_broken() -> None:
    class Wrong(Echo):
        async def run(self, params: Any, ctx: Any) -> Any:
            return "text"

    made, _, _ = agent([[Use("echo")], [Say("ok")]], [Wrong()])
    [result] = results(asyncio.run(made.prompt("go")).messages)
    assert text_of(result) == "echo is broken: it returned str, not a ToolOutput."


def test_tool_can_call_another_tool_without_adding_a_result_to_the_conversation() -> None:
    class Outer(Echo):
        name = "outer"

        async def run(self, params: Any, ctx: Any) -> ToolOutput:
            inner = await ctx.call("echo", {"text": "inside"})
            return ToolOutput.text(f"outer got {inner.content[0].text}")

    made, _, events = agent([[Use("outer")], [Say("ok")]], [Outer(), Echo()])
    [result] = results(asyncio.run(made.prompt("go")).messages)
    assert text_of(result) == "outer got echo: inside"
    assert names(events).count("tool_execution_end") == 1


def test_call_outside_a_run_cannot_call_other_tools() -> None:
    unused: Any = None
    world = World(cwd=Path("/"), fs=unused, run=unused, artifacts=unused)
    context = CallContext(world, ToolCall("1", "echo", {}), lambda output: None)
    with pytest.raises(ToolError, match="cannot be called from here"):
        asyncio.run(context.call("echo", {}))


def test_tool_that_declares_nothing_has_no_effects() -> None:
    asked: list[Effects] = []

    class Asking(Hooks):
        async def before_tool(self, question: ToolQuestion) -> str | None:
            asked.append(question.effects)
            return None

    made, _, _ = agent([[Use("echo")], [Say("ok")]], [Echo()], Asking())
    asyncio.run(made.prompt("go"))
    assert asked == [Effects()]


def test_error_of_one_record_among_several_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _, _ = agent([[Use("echo", text="a"), Use("echo", text="b")], [Say("ok")]], [Echo()])
    record = made._owner.record

    def full_disk(message: AppMessage) -> None:
        if isinstance(message, ToolResultMessage) and text_of(message) == "echo: b":
            raise SessionError("no space left")
        record(message)

    monkeypatch.setattr(type(made._owner), "record", lambda owner, message: full_disk(message))
    with pytest.raises(SessionError, match="no space left"):
        asyncio.run(made.prompt("go"))


def test_many_different_failures_reset_the_repetition_count() -> None:
    def fails(failed: FailedCalls, text: str) -> bool:
        """Whether the model gets a hint that it repeats itself."""
        output = failed.add_hint(ToolCall("1", "echo", {"text": text}), ToolOutput.text("no", is_error=True))
        return len(output.content) > 1

    for others, reported in ((998, True), (999, False)):
        failed = FailedCalls()
        assert not any(fails(failed, "same") for _ in range(4))
        assert not any(fails(failed, str(number)) for number in range(others))
        assert fails(failed, "same") == reported
