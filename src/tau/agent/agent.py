"""The loop with nothing around it: history in memory, no files, no settings. For the SDK and for tests."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tau.agent.abort import Abort
from tau.agent.event_stream import events_of
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.listeners import Listeners
from tau.agent.loop import Outcome, run
from tau.agent.output import ToolOutput
from tau.agent.owner import EventListener, Setup, StreamFunction
from tau.agent.ports import ToolContext
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.agent.world import CallContext, NestedCall, World
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, ImageContent, TextContent, ToolCall, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError, ToolError


class Agent:
    """Give it a model's stream and tools, `prompt` it, read `messages`.

    Tools that use files or processes need a `world`; others do without.
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
        """What was said so far."""
        return self._owner.messages

    @property
    def queue(self) -> Queue:
        return self._owner.queue

    @property
    def busy(self) -> bool:
        return self._abort is not None

    async def prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Send a message and work until the model stops. While busy, use `steer` or `follow_up`."""
        return await self._run(_user_message(text, images))

    async def go_on(self) -> Outcome:
        """Work on from where `messages` stand, without a word of the user: after an error, for instance."""
        return await self._run(None)

    def stream(self, text: str, images: Sequence[ImageContent] = ()) -> AsyncGenerator[AgentEvent, None]:
        """Prompt, and yield what happens; the run's error is raised at the end. Who leaves early stops it."""
        return events_of(self.subscribe, lambda: self.prompt(text, images))

    def steer(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Put a message in between turns of the run that is under way."""
        self.queue.steer(_user_message(text, images))

    def follow_up(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Queue a message for when the agent would stop."""
        self.queue.follow_up(_user_message(text, images))

    def abort(self) -> None:
        """Stop the run. What has been said and done so far is in `messages`; what is queued stays queued."""
        if self._abort is not None:
            self._abort.abort()

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Be told what happens; returns the way to stop listening."""
        return self._owner.listeners.subscribe(listener)

    def configure(self, **changes: Any) -> None:
        """Change what the next request is made with: any field of `Setup`, such as model, system or tools."""
        self._owner.use(replace(self._owner.setup(), **changes))

    async def _run(self, message: UserMessage | None) -> Outcome:
        if self._abort is not None:
            raise TauError("The agent is at work; steer it or queue a follow-up instead.")
        self._abort = abort = Abort()
        try:
            if message is None:
                return await run(self._owner, [], abort)
            taken = await self._owner.hooks.input(message)
            if taken is None:
                return Outcome(message=None, messages=[])
            return await run(self._owner, [taken], abort)
        finally:
            self._abort = None


class _Owner:
    """What the loop asks of an `Agent`."""

    def __init__(
        self,
        setup: Setup,
        stream: StreamFunction,
        world: World,
        hooks: Hooks,
        queue: Queue,
        messages: list[AppMessage],
    ) -> None:
        self.hooks = hooks
        self.queue = queue
        self.messages = messages
        self.listeners = Listeners()
        self._setup = setup
        self._stream = stream
        self._world = world

    def use(self, setup: Setup) -> None:
        self._setup = setup

    def setup(self) -> Setup:
        return self._setup

    def history(self) -> list[AppMessage]:
        return list(self.messages)

    def record(self, message: AppMessage) -> None:
        self.messages.append(message)

    async def make_room(self, abort: Abort) -> None:
        """Nothing to do: who needs it takes a session."""

    def emit(self, event: AgentEvent) -> None:
        self.listeners.emit(event)

    def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        return self._stream(model, request)

    def tool_context(
        self, call: ToolCall, update: Callable[[ToolOutput], None], nested: NestedCall
    ) -> ToolContext:
        return CallContext(self._world, call, update, nested)


class _NoPort:
    """Stands for a port that the agent was not given."""

    def __getattr__(self, name: str) -> Any:
        raise ToolError("This agent was made without a world, so its tools reach no files and no processes.")


def _no_world() -> World:
    missing: Any = _NoPort()
    return World(cwd=Path.cwd(), fs=missing, run=missing, artifacts=missing)


def _user_message(text: str, images: Sequence[ImageContent] = ()) -> UserMessage:
    """What a user says now."""
    if not images:
        return UserMessage(text, now_ms())
    return UserMessage([TextContent(text), *images], now_ms())
