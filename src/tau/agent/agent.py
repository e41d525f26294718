"""A bare agent: the loop with its history in memory, no files, no settings. For the SDK and tests."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tau.agent.abort import Abort
from tau.agent.call_context import CallContext, NestedCall, World
from tau.agent.event_bus import EventBus
from tau.agent.event_stream import stream_events
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome, run_loop
from tau.agent.loop_owner import EventListener, Setup, StreamFunction
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.queue import Queue, user_message
from tau.agent.tool import Tool
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, ImageContent, ToolCall, UserMessage
from tau.base.errors import TauError, ToolError


class Agent:
    """Pass a model's stream and tools, call `prompt`, read `messages`.

    Only tools that use files or processes need a `world`.
    """

    def __init__(
        self,
        *,
        model: Model,
        stream: StreamFunction,
        world: World | None = None,
        system: str = "",
        tools: Sequence[Tool[Any]] = (),
        thinking: ThinkingLevel = "off",
        hooks: Hooks | None = None,
        messages: Iterable[AppMessage] = (),
        queue: Queue | None = None,
    ) -> None:
        setup = Setup(model=model, thinking=thinking, system=system, tools=tools, max_tokens=model.max_tokens)
        self._owner = _Owner(
            setup,
            stream,
            world or _no_world(),
            hooks or Hooks(),
            Queue() if queue is None else queue,
            list(messages),
        )
        self._abort: Abort | None = None

    @property
    def messages(self) -> list[AppMessage]:
        """The conversation so far."""
        return self._owner.messages

    @property
    def queue(self) -> Queue:
        return self._owner.queue

    @property
    def busy(self) -> bool:
        return self._abort is not None

    async def prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Send a message and work until the model stops. While busy, use `steer` or `follow_up`."""
        return await self._run(user_message(text, images))

    async def go_on(self) -> Outcome:
        """Continue from `messages` without a new prompt, for instance after an error."""
        return await self._run(None)

    def stream(self, text: str, images: Sequence[ImageContent] = ()) -> AsyncGenerator[AgentEvent, None]:
        """Prompt and yield the events; raises the run's error at the end. Leaving early stops the run."""
        return stream_events(self.subscribe, lambda: self.prompt(text, images))

    def steer(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Send a message between turns of the current run."""
        self.queue.steer(user_message(text, images))

    def follow_up(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Queue a message for when the agent would stop."""
        self.queue.follow_up(user_message(text, images))

    def abort(self) -> None:
        """Stop the run. The work so far is in `messages`; queued messages stay queued."""
        if self._abort is not None:
            self._abort.abort()

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with each event; the returned function unsubscribes it."""
        return self._owner.listeners.subscribe(listener)

    def configure(self, **changes: Any) -> None:
        """Change any field of `Setup`, such as model, system or tools, from the next request on."""
        self._owner.next_setup = replace(self._owner.next_setup, **changes)

    async def _run(self, message: UserMessage | None) -> Outcome:
        if self._abort is not None:
            raise TauError("The agent is busy; steer it or queue a follow-up instead.")
        self._abort = abort = Abort()
        try:
            if message is None:
                return await run_loop(self._owner, [], abort)
            accepted = await self._owner.hooks.input(message)
            if accepted is None:
                return Outcome(message=None, messages=[])
            return await run_loop(self._owner, [accepted], abort)
        finally:
            self._abort = None


class _Owner(Struct):
    """What the loop asks of an `Agent`."""

    next_setup: Setup
    stream: StreamFunction
    world: World
    hooks: Hooks
    queue: Queue
    messages: list[AppMessage]
    listeners: EventBus = field(default_factory=EventBus)

    def setup(self) -> Setup:
        return self.next_setup

    def history(self) -> list[AppMessage]:
        return list(self.messages)

    def record(self, message: AppMessage) -> None:
        self.messages.append(message)

    async def make_room(self, abort: Abort) -> None:
        """Do nothing: only a session compacts."""

    def emit(self, event: AgentEvent) -> None:
        self.listeners.emit(event)

    def watch_answer(self) -> None:
        return None

    def tool_context(
        self, call: ToolCall, update: Callable[[ToolOutput], None], nested: NestedCall
    ) -> ToolContext:
        return CallContext(self.world, call, update, nested)


class _NoPort:
    """Replaces a port that the agent was not given."""

    def __getattr__(self, name: str) -> Any:
        raise ToolError("This agent was created without a world, so its tools cannot use files or processes.")


def _no_world() -> World:
    missing: Any = _NoPort()
    return World(cwd=Path.cwd(), fs=missing, run=missing, artifacts=missing)
