"""The owner of a loop: keeps the history, the queue and the settings that the loop asks for."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from tau.agent.abort import Abort
from tau.agent.call_context import NestedCall
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.ai.dialect import CacheRetention, Delta, Request, ToolSpec
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, AssistantMessage, ToolCall

InterruptMode = Literal["immediate", "wait"]
EventListener = Callable[[AgentEvent], None]
Complete = Callable[[Model, Request], Awaitable[AssistantMessage]]  # a side request, answered in one piece
StreamFunction = Callable[[Model, Request], AsyncGenerator[Delta, None]]


class Setup(Struct, frozen=True, kw_only=True):
    """What the next request is made with. Requested before each one: a user may change it between turns."""

    model: Model
    thinking: ThinkingLevel
    system: str
    tools: Sequence[Tool[Any]]
    max_tokens: int
    cache_key: str | None = None
    cache_retention: CacheRetention = "short"
    service_tier: str | None = None
    thinking_budgets: Mapping[str, int] = {}  # by thinking level
    interrupt_mode: InterruptMode = "immediate"
    hidden: frozenset[str] = frozenset()  # tools that calls find, and requests do not include

    def offered_tools(self) -> list[Tool[Any]]:
        return [tool for tool in self.tools if tool.offered and tool.name not in self.hidden]

    def specs(self) -> list[ToolSpec]:
        """The offered tools as sent; the demo model gets short descriptions."""
        return [tool.spec.brief() if self.model.demo else tool.spec for tool in self.offered_tools()]


class AnswerWatch(Protocol):
    """Sees the deltas of one answer that are of these `kinds`; `check` may raise StreamInterrupted."""

    @property
    def kinds(self) -> frozenset[type]: ...
    async def check(self, delta: Delta) -> None: ...


class LoopOwner(Protocol):
    """A session, in practice; `agent/agent.py` is the smallest one."""

    @property
    def hooks(self) -> Hooks: ...
    @property
    def queue(self) -> Queue: ...
    def setup(self) -> Setup: ...
    def history(self) -> list[AppMessage]: ...
    def record(self, message: AppMessage) -> None:
        """Make it durable. An error here ends the run: better to stop than to continue unrecorded."""
        ...

    async def make_room(self, abort: Abort) -> None:
        """Make the history fit; called before each request. Does not raise on an abort."""
        ...

    def emit(self, event: AgentEvent) -> None: ...
    def watch_answer(self) -> AnswerWatch | None:
        """Called before each request."""
        ...

    @property
    def stream(self) -> StreamFunction: ...
    def tool_context(
        self, call: ToolCall, update: Callable[[ToolOutput], None], nested: NestedCall
    ) -> ToolContext:
        """`nested` runs a call made by this call."""
        ...
