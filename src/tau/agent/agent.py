"""The loop with nothing around it: history in memory, no files, no settings. For the SDK and for tests."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from tau.agent.abort import Abort
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome, run
from tau.agent.output import ToolOutput
from tau.agent.owner import Listener, Setup, StreamFunction
from tau.agent.ports import ToolContext
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.agent.world import CallContext, World
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, ToolCall, UserMessage
from tau.base.clock import now_ms


class Agent:
    """Give it a model's stream and tools, `prompt` it, read `messages`."""

    def __init__(
        self,
        *,
        model: Model,
        stream: StreamFunction,
        world: World,
        system: str = "",
        tools: Sequence[Tool[Any]] = (),
        thinking: ThinkingLevel = "off",
        hooks: Hooks | None = None,
    ) -> None:
        self.messages: list[AppMessage] = []
        self.hooks = hooks or Hooks()
        self.queue = Queue()
        self.stream = stream
        self.world = world
        self._listeners: list[Listener] = []
        self._abort: Abort | None = None
        self._setup = Setup(
            model=model,
            thinking=thinking,
            system=system,
            tools=tools,
            max_tokens=model.max_tokens,
        )

    async def prompt(self, text: str) -> Outcome:
        self._abort = Abort()
        try:
            return await run(self, [UserMessage(text, now_ms())], self._abort)
        finally:
            self._abort = None

    def abort(self) -> None:
        if self._abort is not None:
            self._abort.abort()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def configure(self, **changes: Any) -> None:
        """Change what the next request is made with: model, thinking, system, tools, max_tokens."""
        self._setup = structs.replace(self._setup, **changes)

    def setup(self) -> Setup:
        return self._setup

    def history(self) -> list[AppMessage]:
        return list(self.messages)

    def record(self, message: AppMessage) -> None:
        self.messages.append(message)

    async def make_room(self, abort: Abort) -> None:
        """Nothing to do: who needs it takes a session."""

    def emit(self, event: AgentEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def tool_context(self, call: ToolCall, update: Callable[[ToolOutput], None]) -> ToolContext:
        return CallContext(self.world, call, update)
