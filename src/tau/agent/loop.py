"""The loop: ask the model, run the tools it calls, repeat until it stops.

It holds no state between runs: history, settings and queues belong to its owner (a session). A message is
recorded before its end is reported, every start gets its end and every tool call its result, no matter what.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import cached_property

from msgspec import Struct

from tau.agent import events as e
from tau.agent.abort import Abort, Aborted
from tau.agent.loop_owner import LoopOwner, Setup
from tau.agent.queue import Prompt
from tau.ai.assembler import Assembler
from tau.ai.dialect import Request
from tau.ai.normalization import HistoryNormalizer, clean
from tau.ai.wire import AppMessage, AssistantMessage, StopReason, ToolResultMessage, UserMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import ProviderError, StreamInterrupted, TauError
from tau.base.late import late

calls = late("tau.agent.call_runner")

MAX_CUT_OFF_TURNS = 3
MAX_PAUSES = 10


class Outcome(Struct, frozen=True, kw_only=True):
    """How a run ended: its last answer, and what went wrong if anything did."""

    message: AssistantMessage | None
    messages: list[AppMessage]
    error: TauError | None = None
    aborted: bool = False


class ModelAnswer(Struct, frozen=True):
    """One answer of the model. `broken` maps the ids of calls that cannot run to the reason."""

    message: AssistantMessage
    broken: dict[str, str]
    error: TauError | None = None
    cancelled: bool = False
    paused: bool = False  # the server wants to continue it in another request


async def run_loop(owner: LoopOwner, prompts: Sequence[Prompt], abort: Abort) -> Outcome:
    """Work on `prompts`, or on the history as it is if there are none, until the model stops."""
    run = _Run(owner, abort)
    owner.emit(e.AgentStart())
    try:
        return await run.run_turns(list(prompts))
    finally:
        owner.queue.put_back()
        owner.emit(e.AgentEnd(run.messages))


async def accept_queued(owner: LoopOwner, queued: Sequence[Prompt], abort: Abort) -> list[Prompt]:
    """What the hooks leave of messages that were queued; one that they block is dropped, with a notice."""
    accepted: list[Prompt] = []
    for prompt in queued:
        try:
            async with abort.scope():
                message = await owner.hooks.input(prompt) if isinstance(prompt, UserMessage) else prompt
        except Aborted:
            return []  # the rest stays in the queue
        except Exception as error:
            message = None
            text = str(error) if isinstance(error, TauError) else f"A hook failed on a message: {error!r}."
            owner.emit(e.Notice("warning", text))
        if message is not None:
            accepted.append(message)
        if message is not prompt:
            owner.queue.settle(prompt)
    return [*owner.queue.take_asides(), *accepted] if accepted else []


class _Run:
    def __init__(self, owner: LoopOwner, abort: Abort) -> None:
        self.owner = owner
        self.abort = abort
        self.messages: list[AppMessage] = []
        self.cut_off_turns = 0
        self.pauses = 0  # in a row
        self.normalizer = HistoryNormalizer()

    @cached_property
    def failed(self) -> "calls.FailedCalls":
        return calls.FailedCalls()

    async def run_turns(self, prompts: list[Prompt]) -> Outcome:
        queue, record = self.owner.queue, self.owner.record
        queue.release(record)
        prompts = [*queue.take_asides(), *prompts]  # they came first
        while True:
            self.begin_turn(prompts)
            answer, results = await self.run_turn()
            queue.release(record)  # after the results, never between a call and its result
            message = answer.message
            if answer.error is not None or message.stop_reason in ("aborted", "error") or self.abort.aborted:
                return Outcome(
                    message=message, messages=self.messages, error=answer.error, aborted=self.abort.aborted
                )
            self.pauses = self.pauses + 1 if answer.paused else 0
            continues = bool(results) or 0 < self.pauses <= MAX_PAUSES
            queued = self.next_prompts(stopping=not continues)
            prompts = await accept_queued(self.owner, queued, self.abort) if queued else []
            if not continues and not prompts:
                return Outcome(message=message, messages=self.messages)

    def begin_turn(self, prompts: list[Prompt]) -> None:
        for prompt in prompts:
            self.record(prompt)
            self.owner.queue.settle(prompt)
        self.owner.emit(e.TurnStart())
        for prompt in prompts:
            self.report(prompt)

    def next_prompts(self, *, stopping: bool) -> list[Prompt]:
        """Steering messages first; follow-ups only if the agent would stop."""
        queue = self.owner.queue
        prompts = queue.take_steering()
        if stopping and not prompts:
            return [*queue.take_asides(), *queue.take_follow_ups()]
        return [*prompts, *queue.take_asides()]

    async def run_turn(self) -> tuple[ModelAnswer, list[ToolResultMessage]]:
        """Request one answer and run its tool calls."""
        await self.owner.make_room(self.abort)
        setup = self.owner.setup()
        answer = await self.request_answer(setup)
        results: list[ToolResultMessage] = []
        try:
            if answer.cancelled:
                raise asyncio.CancelledError
            if answer.message.stop_reason in ("toolUse", "length"):
                answer = self.check_cut_off(answer)
                on_result = self.result_recorder(results)
                runner = calls.CallRunner(
                    self.owner, setup, answer.broken, self.abort, self.failed, on_result
                )
                await runner.run_all(answer.message.tool_calls)
                answer = ModelAnswer(answer.message, answer.broken, answer.error or self.failed.error)
        finally:
            self.owner.emit(e.TurnEnd(answer.message, results))
        return answer, results

    def check_cut_off(self, answer: ModelAnswer) -> ModelAnswer:
        """Never run the calls of a truncated answer, and stop a model whose answers keep being truncated."""
        if answer.message.stop_reason != "length" or not answer.message.tool_calls:
            self.cut_off_turns = 0
            return answer
        self.cut_off_turns += 1
        reason = (
            "the answer reached its length limit (max_tokens) and was cut off. "
            "Nothing was changed; send it again in smaller pieces"
        )
        broken = {call.id: reason for call in answer.message.tool_calls}
        error = None
        if self.cut_off_turns >= MAX_CUT_OFF_TURNS:
            error = ProviderError(
                f"The model's answers were cut off {MAX_CUT_OFF_TURNS} times in a row by its output limit."
            )
        return ModelAnswer(answer.message, broken, error)

    async def request_answer(self, setup: Setup) -> ModelAnswer:
        owner = self.owner
        assembler = Assembler(setup.model, now_ms())
        owner.emit(e.MessageStart(assembler.message("stop")))
        error: TauError | None = None
        cancelled = False
        stop: StopReason = "error"
        try:
            async with self.abort.scope():
                request = await self.build_request(setup)
                watch = owner.watch_answer()
                watched = frozenset() if watch is None else watch.kinds
                async with aclosing(owner.stream(setup.model, request)) as deltas:
                    async for delta in deltas:
                        for event in assembler.feed(delta):
                            owner.emit(e.MessageUpdate(event))
                        if watch is not None and type(delta) in watched:
                            await watch.check(delta)
            if assembler.done is None:
                raise ProviderError("The answer ended before it was complete.", retryable=True)
            stop = assembler.stop_reason
        except Aborted:
            stop = "aborted"
        except asyncio.CancelledError:
            stop, cancelled = "aborted", True
        except TauError as caught:
            if isinstance(caught, ProviderError) and caught.bad_call and setup.tools:
                for event in assembler.reject_call(caught.bad_call, [tool.name for tool in setup.tools]):
                    owner.emit(e.MessageUpdate(event))
                stop = "toolUse"
            else:
                error = caught
                if isinstance(caught, StreamInterrupted):
                    stop = "aborted"
        except Exception as caught:
            log.error("A request failed unexpectedly.", caught)
            error = TauError(f"The request failed unexpectedly: {caught!r}. The log file has the details.")
        for event in assembler.end_blocks():
            owner.emit(e.MessageUpdate(event))
        text = str(error) if error is not None else "Interrupted by the user." if stop == "aborted" else None
        message = assembler.message(stop, text)
        self.record(message)
        owner.emit(e.MessageEnd(message))
        paused = stop == "stop" and assembler.done is not None and assembler.done.reason == "pause"
        return ModelAnswer(message, assembler.broken, error, cancelled, paused)

    async def build_request(self, setup: Setup) -> Request:
        hooks = self.owner.hooks
        history = await hooks.context(self.owner.history())
        return await hooks.before_request(
            Request(
                system=clean(setup.system),
                messages=self.normalizer.normalize(history, setup.model),
                tools=setup.specs(),
                max_tokens=setup.max_tokens,
                thinking=setup.thinking,
                cache_key=setup.cache_key,
                cache_retention=setup.cache_retention,
                service_tier=setup.service_tier,
                thinking_budgets=setup.thinking_budgets,
            )
        )

    def record(self, message: AppMessage) -> None:
        self.owner.record(message)
        self.messages.append(message)

    def report(self, message: AppMessage) -> None:
        """Emit the events of a recorded message that did not stream."""
        self.owner.emit(e.MessageStart(message))
        self.owner.emit(e.MessageEnd(message))

    def result_recorder(
        self, results: list[ToolResultMessage]
    ) -> Callable[[ToolResultMessage, e.ToolEnd], None]:
        def on_result(message: ToolResultMessage, end: e.ToolEnd) -> None:
            self.record(message)
            results.append(message)
            self.owner.emit(end)
            self.report(message)

        return on_result
