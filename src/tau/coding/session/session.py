"""A session: one conversation with a model, its tools, and its log. Every face holds one."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

from msgspec import Struct

from tau.agent.abort import Abort, Aborted
from tau.agent.agent import Listener, StreamFunction
from tau.agent.events import AgentEvent, Notice, RetryEnd, RetryStart
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome, run
from tau.agent.output import ToolOutput
from tau.agent.owner import InterruptMode, Setup
from tau.agent.ports import ToolContext
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, ImageContent, TextContent, ToolCall, Usage, UserMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import SessionError, TauError
from tau.coding.context import CodingCall, CodingWorld
from tau.coding.session.log import SessionLog
from tau.coding.session.retry import RetryPolicy
from tau.coding.session.stats import total_usage


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
    retry: RetryPolicy
    interrupt_mode: InterruptMode = "immediate"
    notices: list[Notice] = []


class Session:
    def __init__(self, parts: SessionParts) -> None:
        self.log = parts.log
        self.models = parts.world.models
        self.thinking: ThinkingLevel = parts.thinking
        self.hooks = parts.hooks
        self.queue = parts.queue
        self.retry = parts.retry
        self.notices = list(parts.notices)
        self.services = AsyncExitStack()  # what lives as long as the session
        self._parts = parts
        self._system = parts.system(self.model)
        self._aborts: list[Abort] = []  # the innermost activity last
        self._listeners: list[Listener] = []

    @property
    def model(self) -> Model:
        return self.models.default

    @property
    def busy(self) -> bool:
        return bool(self._aborts)

    @property
    def usage(self) -> Usage:
        return total_usage(self.log.messages())

    async def prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Send a message and work until the model stops. While busy, use `steer` or `follow_up`."""
        if self.busy:
            raise TauError("the agent is at work; steer it or queue a follow-up instead")
        return await self._run([_user_message(text, images)])

    def steer(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Put a message in between turns of the run that is under way."""
        self.queue.steer(_user_message(text, images))

    def follow_up(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Queue a message for when the agent would stop."""
        self.queue.follow_up(_user_message(text, images))

    def abort(self) -> None:
        """Stop the innermost activity. What has been said and done so far is recorded."""
        if self._aborts:
            self._aborts[-1].abort()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Be told what happens; returns the way to stop listening."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def use_model(self, model: Model) -> None:
        """Go on with another model from the next request on."""
        self.models.default = model
        self._system = self._parts.system(model)
        self.log.append_model(model)

    def use_thinking(self, level: ThinkingLevel) -> None:
        self.thinking = level
        self.log.append_thinking(level)

    async def close(self) -> None:
        self.abort()
        self.log.close()
        await self.services.aclose()

    async def _run(self, prompts: list[UserMessage]) -> Outcome:
        abort = Abort()
        self._aborts.append(abort)
        try:
            heard = [await self.hooks.input(prompt) for prompt in prompts]
            wanted = [prompt for prompt in heard if prompt is not None]
            if not wanted:
                return Outcome(message=None, messages=[])
            outcome = await run(self, wanted, abort)
            return await self._retried(outcome, abort)
        except SessionError as error:
            log.error("a run ended because it could not be recorded", error)
            return Outcome(message=None, messages=[], error=error)
        finally:
            self._aborts.remove(abort)

    async def _retried(self, outcome: Outcome, abort: Abort) -> Outcome:
        """Send a request that failed for a passing reason again, until it works or patience ends."""
        attempt = 0
        while (delay_ms := self.retry.delay_ms(attempt + 1, outcome.error)) is not None and not abort.aborted:
            attempt += 1
            self.emit(RetryStart(attempt, self.retry.max_retries, delay_ms, str(outcome.error)))
            try:
                await abort.sleep(delay_ms / 1000)
            except Aborted:
                self.emit(RetryEnd(False, attempt, str(outcome.error)))
                return Outcome(
                    message=outcome.message, messages=outcome.messages, error=outcome.error, aborted=True
                )
            again = await run(self, [], abort)
            outcome = Outcome(
                message=again.message,
                messages=[*outcome.messages, *again.messages],
                error=again.error,
                aborted=again.aborted,
            )
            if outcome.error is None:
                self.emit(RetryEnd(True, attempt))
                attempt = 0
        if attempt:
            self.emit(RetryEnd(False, attempt, str(outcome.error)))
        return outcome

    def setup(self) -> Setup:
        return Setup(
            model=self.model,
            thinking=self.thinking if self.model.reasoning else "off",
            system=self._system,
            tools=self._parts.tools,
            max_tokens=self.model.max_tokens,
            cwd=self._parts.world.cwd,
            cache_key=self.log.header.id,
            interrupt_mode=self._parts.interrupt_mode,
        )

    def history(self) -> list[AppMessage]:
        return self.log.messages()

    def record(self, message: AppMessage) -> None:
        self.log.append_message(message)

    def emit(self, event: AgentEvent) -> None:
        """Tell everybody. A listener that fails is its own problem: it goes to the log, the run goes on."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                log.error("a listener failed", error)

    def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        return self._parts.stream(model, request)

    def tool_context(self, call: ToolCall, update: Callable[[ToolOutput], None]) -> ToolContext:
        return CodingCall(self._parts.world, call, update)


def _user_message(text: str, images: Sequence[ImageContent]) -> UserMessage:
    if not images:
        return UserMessage(text, now_ms())
    return UserMessage([TextContent(text), *images], now_ms())
