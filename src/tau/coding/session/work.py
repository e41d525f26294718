"""The session's side of the loop: what it asks for, what it tells, and trying again when a request failed."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from msgspec import Struct

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent, Notice, RetryEnd, RetryStart
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome, run
from tau.agent.output import ToolOutput
from tau.agent.owner import InterruptMode, Listener, Setup, StreamFunction
from tau.agent.ports import ToolContext
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, ToolCall, UserMessage
from tau.base import log
from tau.coding.context import CodingCall, CodingWorld
from tau.coding.session.log import SessionLog
from tau.coding.session.retry import retry_delay_ms
from tau.coding.tools import tools_for
from tau.config.settings import Retry


class SessionParts(Struct, frozen=True, kw_only=True):
    """What a session is made of. `system` makes the prompt for a model: it may be changed on the way."""

    log: SessionLog
    thinking: ThinkingLevel
    system: Callable[[Model], str]
    tools: Sequence[Tool[Any]]
    stream: StreamFunction
    world: CodingWorld
    hooks: Hooks
    queue: Queue
    retry: Retry
    interrupt_mode: InterruptMode = "immediate"
    notices: list[Notice] = []


class Work:
    """The loop's owner. It keeps the level of thinking and the prompt; the models and the log are shared."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._listeners: list[Listener] = []
        self._system: tuple[Model, str] | None = None
        self.hooks = parts.hooks
        self.queue = parts.queue
        self.thinking: ThinkingLevel = parts.thinking

    async def run(self, prompts: Sequence[UserMessage], abort: Abort) -> Outcome:
        """Run the loop; a request that failed for a passing reason is sent again, until patience ends."""
        outcome = await run(self, prompts, abort)
        retry = self._parts.retry
        attempt = 0
        while not abort.aborted:
            delay_ms = retry_delay_ms(retry, attempt + 1, outcome.error)
            if delay_ms is None:
                break
            attempt += 1
            self.emit(RetryStart(attempt, retry.max_retries, delay_ms, str(outcome.error)))
            try:
                await abort.sleep(delay_ms / 1000)
            except Aborted:
                outcome = _joined(outcome, outcome.messages, aborted=True)
                break
            again = await run(self, [], abort)
            outcome = _joined(again, [*outcome.messages, *again.messages], aborted=again.aborted)
            if outcome.error is None:
                self.emit(RetryEnd(True, attempt))
                return outcome
        if attempt:
            self.emit(RetryEnd(False, attempt, str(outcome.error)))
        return outcome

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def emit(self, event: AgentEvent) -> None:
        """Tell everybody. A listener that fails is its own problem: it goes to the log, the run goes on."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                log.error("A listener failed.", error)

    def setup(self) -> Setup:
        parts = self._parts
        model = parts.world.models.default
        if self._system is None or self._system[0] != model:
            self._system = (model, parts.system(model))
        return Setup(
            model=model,
            thinking=self.thinking if model.reasoning else "off",
            system=self._system[1],
            tools=tools_for(model, parts.tools),
            max_tokens=model.max_tokens,
            cache_key=parts.log.header.id,
            interrupt_mode=parts.interrupt_mode,
        )

    def history(self) -> list[AppMessage]:
        return self._parts.log.messages()

    def record(self, message: AppMessage) -> None:
        self._parts.log.append_message(message)

    async def make_room(self, abort: Abort) -> None:
        pass

    def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        return self._parts.stream(model, request)

    def tool_context(self, call: ToolCall, update: Callable[[ToolOutput], None]) -> ToolContext:
        return CodingCall(self._parts.world, call, update)


def _joined(last: Outcome, messages: list[AppMessage], *, aborted: bool) -> Outcome:
    """The outcome of several tries: the last one's, with the messages of all."""
    return Outcome(message=last.message, messages=messages, error=last.error, aborted=aborted)
