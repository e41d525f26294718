"""Runs the tool calls of one answer: in parallel, exclusive tools alone. Every call gets a result."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tau.agent import events as e
from tau.agent.abort import Abort, Aborted
from tau.agent.effects import Effects
from tau.agent.hooks import ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.owner import Owner, Setup
from tau.agent.tool import Tool
from tau.ai.wire import AssistantMessage, TextContent, ToolCall, ToolResultMessage, new_call_id, text_of
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError, ToolError
from tau.base.tasks import spawn
from tau.base.text import sentence

MAX_PARALLEL = 16  # calls of one answer
TELL_AT = 5  # failures of the same call in a row
STOP_AT = 10
MAX_COUNTED = 1000
TakeResult = Callable[[ToolResultMessage, e.ToolEnd], None]

STOPPED = "The user interrupted this call; it may have done part of its work."
UNFINISHED = "The user interrupted this call before it ended."
NOT_STARTED = "Not run: the user interrupted before this call began."
SKIPPED = "Not run: the user sent a new message, which comes next."


class FailedCalls:
    """Counts consecutive failures of the same call. `error` ends the run."""

    def __init__(self) -> None:
        self.error: TauError | None = None
        self._counts: dict[int, int] = {}

    def judge(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        """Add a hint to the output if the model keeps repeating a failing call."""
        if not output.is_error:
            self._counts.clear()
            return output
        if len(self._counts) >= MAX_COUNTED:
            self._counts.clear()
        key = hash((call.name, repr(call.arguments)))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count < TELL_AT:
            return output
        if count >= STOP_AT:
            self.error = TauError(
                f"The run was stopped: the model sent the same failing call of {call.name} {count} times "
                "in a row."
            )
        word = TextContent(
            f"[This call has failed {count} times in a row with the same arguments; sending it again "
            "will not help. Change the arguments, try another way, or tell the user what blocks you.]"
        )
        return ToolOutput([*output.content, word], output.details, output.is_error)


async def run_calls(
    owner: Owner,
    setup: Setup,
    message: AssistantMessage,
    broken: Mapping[str, str],
    abort: Abort,
    failed: FailedCalls,
    take: TakeResult,
) -> None:
    """Run the calls of `message`; `take` gets each result as soon as it is available."""
    tools = {tool.name: tool for tool in setup.tools}
    calls = _Calls(owner, setup, tools, broken, abort, failed, take)
    waiting = list(message.tool_calls)
    try:
        for batch in _batches(waiting, tools):
            await _run_parallel(calls, batch)
    finally:
        for call in waiting:
            if call.id not in calls.answered:
                calls.skip(call, NOT_STARTED)


async def _run_parallel(calls: "_Calls", batch: list[ToolCall]) -> None:
    """Run all calls, up to MAX_PARALLEL at a time. A call never raises; recording its result can."""
    waiting = iter(batch)

    async def work() -> None:
        for call in waiting:
            if calls.abort.aborted:
                return
            await calls.run(call)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in batch[:MAX_PARALLEL]:
                spawn(group, work())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


def _batches(calls: list[ToolCall], tools: Mapping[str, Tool[Any]]) -> Iterator[list[ToolCall]]:
    """Group adjacent calls that may run in parallel; an exclusive call is its own batch."""
    batch: list[ToolCall] = []
    for call in calls:
        tool = tools.get(call.name)
        if tool is not None and tool.exclusive:
            yield batch
            yield [call]
            batch = []
        else:
            batch.append(call)
    yield batch


class _Calls:
    """What the calls of one answer share."""

    def __init__(
        self,
        owner: Owner,
        setup: Setup,
        tools: Mapping[str, Tool[Any]],
        broken: Mapping[str, str],
        abort: Abort,
        failed: FailedCalls,
        take: TakeResult,
    ) -> None:
        self.owner = owner
        self.setup = setup
        self.tools = tools
        self.broken = broken
        self.abort = abort
        self.failed = failed
        self.take = take
        self.answered: set[str] = set()
        self.begun: dict[str, Effects] = {}

    def skip(self, call: ToolCall, reason: str) -> None:
        self.owner.emit(e.ToolStart(call.id, call.name, call.arguments))
        self.finish(call, ToolOutput.text(reason, is_error=True))

    async def run(self, call: ToolCall) -> None:
        """Run a call, or skip it if the user has steered: running calls finish, the rest are skipped."""
        if self.setup.interrupt_mode == "immediate" and self.owner.queue.has_steering:
            self.skip(call, SKIPPED)
            return
        self.owner.emit(e.ToolStart(call.id, call.name, call.arguments))
        try:
            async with self.abort.scope():
                output = await self.output(call)
        except Aborted:
            output = self.stopped(call)
        except asyncio.CancelledError:
            self.finish(call, self.stopped(call))
            raise
        else:
            output = self.failed.judge(call, output)
        self.finish(call, output)

    def stopped(self, call: ToolCall) -> ToolOutput:
        """The result of an interrupted call: how much it may have done."""
        effects = self.begun.get(call.id)
        if effects is None:  # its approval was still pending
            return ToolOutput.text(NOT_STARTED, is_error=True)
        changes = effects.writes or effects.runs or effects.network
        return ToolOutput.text(STOPPED if changes else UNFINISHED, is_error=True)

    async def output(self, call: ToolCall) -> ToolOutput:
        """The call's output; any failure becomes text for the model."""
        try:
            output = await self.attempt(call)
        except ToolError as error:
            output = ToolOutput.text(str(error), is_error=True)
        except Exception as error:
            log.error(f"The tool {call.name} failed.", error)
            text = sentence(f"{call.name} failed: {type(error).__name__}: {error}")
            output = ToolOutput.text(text, is_error=True)
        try:
            return await self.owner.hooks.after_tool(call, output)
        except Exception as error:
            log.error(f"A hook failed after the tool {call.name}.", error)
            return output

    async def attempt(self, call: ToolCall) -> ToolOutput:
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            raise ToolError(f'There is no tool named "{call.name}". Tools: {known}.')
        problem = self.broken.get(call.id)
        if problem is not None:
            raise ToolError(sentence(f"This call of {call.name} cannot run: {problem}"))
        params, ignored = tool.decode(call.arguments)
        context = self.owner.tool_context(call, self.updater(call), self.nested)
        effects = tool.effects(params, context.cwd)
        question = ToolQuestion(call, tool, effects, context, self.setup.model)
        refusal = await self.owner.hooks.before_tool(question)
        if refusal is not None:
            raise ToolError(refusal)
        self.begun[call.id] = effects
        output = await tool.run(params, context)
        if not isinstance(output, ToolOutput):
            raise ToolError(f"{call.name} is broken: it returned {type(output).__name__}, not a ToolOutput.")
        if ignored:
            note = TextContent(f"[Ignored unknown parameters: {', '.join(ignored)}]")
            output = ToolOutput([*output.content, note], output.details, output.is_error)
        return output

    async def nested(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Run a call made by another call. It adds no result to the conversation."""
        return await self.output(ToolCall(new_call_id(), name, arguments))

    def updater(self, call: ToolCall) -> Callable[[ToolOutput], None]:
        def update(partial: ToolOutput) -> None:
            result = e.ToolResult(partial.content, partial.details)
            self.owner.emit(e.ToolUpdate(call.id, call.name, call.arguments, result))

        return update

    def finish(self, call: ToolCall, output: ToolOutput) -> None:
        """Record the result, then report it."""
        self.answered.add(call.id)
        message = ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=output.content,
            is_error=output.is_error,
            timestamp=now_ms(),
            details=output.details,
        )
        shown: e.ToolResult | str = e.ToolResult(output.content, output.details)
        if output.is_error:
            shown = text_of(output.content)
        self.take(message, e.ToolEnd(call.id, call.name, shown, output.is_error))
