"""Runs the tool calls of one answer: in parallel, exclusive tools alone. Every call gets a result."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.agent import events as e
from tau.agent.abort import Abort, Aborted
from tau.agent.effects import Effects
from tau.agent.hooks import Refusal, ToolQuestion
from tau.agent.loop_owner import LoopOwner, Setup
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.wire import TextContent, ToolCall, ToolResultMessage, new_call_id, text_of
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.base.text import sentence

approval = late("tau.agent.approved_effects")

MANY_PATHS = 50  # of a call
MAX_PARALLEL = 16  # calls of one answer
HINT_AFTER = 5  # failures of the same call in a row
STOP_AFTER = 10
MAX_COUNTED = 1000
OnResult = Callable[[ToolResultMessage, e.ToolEnd], None]

STOPPED = "The user interrupted this call; it may have done part of its work."
UNFINISHED = "The user interrupted this call before it ended."
NOT_STARTED = "Not run: the user interrupted before this call began."
MOVED = (
    "Not run: while this call waited, a link was changed, so that it would touch other files than declared. "
    "Look at its paths and send it again."
)
SKIPPED = "Not run: the user sent a new message, which comes next."


class FailedCalls(Struct):
    """Counts consecutive failures of the same call. `error` ends the run."""

    error: TauError | None = None
    _counts: dict[int, int] = {}

    def add_hint(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        """Count the call; add a hint to the output if the model keeps repeating a failing one."""
        if not output.is_error:
            self._counts.clear()
            return output
        if len(self._counts) >= MAX_COUNTED:
            self._counts.clear()
        key = hash((call.name, repr(call.arguments)))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count < HINT_AFTER:
            return output
        if count >= STOP_AFTER:
            self.error = TauError(
                f"The run was stopped: the model sent the same failing call of {call.name} {count} times "
                "in a row."
            )
        hint = TextContent(
            f"[This call has failed {count} times in a row with the same arguments; sending it again "
            "will not help. Change the arguments, try another way, or tell the user what blocks you.]"
        )
        return ToolOutput([*output.content, hint], output.details, output.is_error)


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


def _refused(refusal: str | Refusal) -> ToolOutput:
    if isinstance(refusal, Refusal):
        return ToolOutput.text(refusal.text, refusal.details, is_error=True)
    return ToolOutput.text(refusal, is_error=True)


class CallRunner(Struct):
    """Runs the calls of one answer. `on_result` gets each result as soon as it is available.

    `broken` maps the ids of calls that cannot run to the reason.
    """

    owner: LoopOwner
    setup: Setup
    broken: Mapping[str, str]
    abort: Abort
    failed: FailedCalls
    on_result: OnResult
    tools: dict[str, Tool[Any]] = {}
    answered: set[str] = set()
    started: dict[str, Effects] = {}

    async def run_all(self, calls: list[ToolCall]) -> None:
        self.tools = {alias: tool for tool in self.setup.tools for alias in tool.aliases}
        self.tools |= {tool.name: tool for tool in self.setup.tools}
        try:
            for batch in _batches(calls, self.tools):
                await self.run_parallel(batch)
        finally:
            for call in calls:
                if call.id not in self.answered:
                    self.skip(call, NOT_STARTED)

    async def run_parallel(self, batch: list[ToolCall]) -> None:
        """Run all calls, up to MAX_PARALLEL at a time. A call never raises; recording its result can."""
        waiting = iter(batch)

        async def work() -> None:
            for call in waiting:
                if self.abort.aborted:
                    return
                await self.run(call)

        if len(batch) < 2:
            await work()
            return
        try:
            async with asyncio.TaskGroup() as group:
                for _ in batch[:MAX_PARALLEL]:
                    spawn(group, work())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

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
            output = self.failed.add_hint(call, output)
        self.finish(call, output)

    def stopped(self, call: ToolCall) -> ToolOutput:
        """The result of an interrupted call: how much it may have done."""
        effects = self.started.get(call.id)
        if effects is None:  # its approval was still pending
            return ToolOutput.text(NOT_STARTED, is_error=True)
        changes = effects.writes or effects.runs or effects.network or effects.mcp or effects.publishes
        return ToolOutput.text(STOPPED if changes else UNFINISHED, is_error=True)

    async def output(self, call: ToolCall) -> ToolOutput:
        """The call's output; any failure becomes text for the model."""
        try:
            output = await self.run_tool(call)
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

    async def run_tool(self, call: ToolCall) -> ToolOutput:
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(tool.name for tool in self.setup.offered_tools()) or "none"
            raise ToolError(f'There is no tool named "{call.name}". Tools: {known}.')
        problem = self.broken.get(call.id)
        if problem is not None:
            raise ToolError(sentence(f"This call of {call.name} cannot run: {problem}"))
        params, ignored = tool.decode(call.arguments)
        context = self.owner.tool_context(call, self.updater(call), self.nested)
        effects = tool.effects(params, context.cwd)
        question = ToolQuestion(call, tool, effects, context, self.setup.model)
        review = await self.owner.hooks.review_call(question)
        if review is not None:
            if review.refusal is not None:
                return _refused(review.refusal)
            if review.arguments is not None:
                question = question.with_arguments(review.arguments)
                params, ignored = tool.decode(review.arguments)
                effects = question.effects
            question = replace(question, ask=review.ask)
        approved = approval.ApprovedEffects(effects)
        is_long = len(effects.reads) + len(effects.writes) > MANY_PATHS
        if is_long:  # each step takes a while: let others use the event loop in between
            await asyncio.sleep(0)
        refusal = await self.owner.hooks.before_tool(question)
        if is_long:
            await asyncio.sleep(0)
        if refusal is not None:
            return _refused(refusal)
        if approval.ApprovedEffects(effects).targets != approved.targets:
            raise ToolError(MOVED)
        self.started[call.id] = effects
        output = await tool.run(params, context.bound(approved))
        if not isinstance(output, ToolOutput):
            raise ToolError(f"{call.name} is broken: it returned {type(output).__name__}, not a ToolOutput.")
        notes = [f"[Ignored unknown parameters: {', '.join(ignored)}]"] if ignored else []
        if review is not None and review.note:
            notes.append(f"[{review.note}]")
        if notes:
            content = [*output.content, *map(TextContent, notes)]
            output = ToolOutput(content, output.details, output.is_error)
        return output

    async def nested(self, name: str, arguments: dict[str, object]) -> ToolOutput:
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
        if output.is_error and output.details is UNSET:
            shown = text_of(output.content)
        self.on_result(message, e.ToolEnd(call.id, call.name, shown, output.is_error))
