"""The agents of a session as tools and faces see them: values in, values out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType

from tau.agent.events import AgentEvent
from tau.agent.output import ToolOutput
from tau.coding.ports import CodingContext
from tau.coding.task.results import AgentProgress, SingleResult

if TYPE_CHECKING:
    from tau.coding.task.catalog import AgentCatalog

MAIN, ALL = "Main", "all"
USER = "User"
"""The sender of what a person writes to an agent."""
TeamChange = Literal["lifecycle", "progress", "event"]
TeamListener = Callable[[TeamChange, str, AgentEvent | None], None]
ReceiptOutcome = Literal["injected", "woken", "revived", "failed"]


class TaskOrder(Struct, frozen=True, kw_only=True):
    """What to start. `schema` and `model` replace those of the definition."""

    agent: str
    text: str
    context: str = ""
    id: str | None = None
    description: str = ""
    isolated: bool = False
    index: int = 0
    tool_call: str = ""
    model: str | None = None
    schema: dict[str, Any] | None = None


class AgentMessage(Struct, frozen=True, rename="camel"):
    """A message between agents."""

    id: str
    sender: str
    to: str
    body: str
    sent_ms: int
    reply_to: str | UnsetType = UNSET

    def line(self) -> str:
        reply = f" (reply to {self.reply_to})" if isinstance(self.reply_to, str) else ""
        return f"[{self.id}] {self.sender}{reply}: {self.body}"


class MessageReceipt(Struct, frozen=True, rename="camel"):
    to: str
    outcome: ReceiptOutcome
    error: str | UnsetType = UNSET


class PeerRow(Struct, frozen=True, rename="camel"):
    """An agent that can be sent messages."""

    id: str
    agent: str
    kind: Literal["main", "agent"]
    status: str
    unread: int
    parent: str | UnsetType = UNSET
    quiet_ms: int = 0


class Mail(Protocol):
    """Messages between agents; `owner` is the id of the agent that acts."""

    timeout_ms: int

    def exact(self, name: str) -> str:
        """An id as it is written. Raises ToolError."""
        ...

    def peers(self, owner: str) -> list[PeerRow]: ...
    def unread(self, id: str) -> int: ...
    async def send(self, sender: str, to: str, body: str, reply_to: str | None = None) -> MessageReceipt: ...
    def take(self, id: str, sender: str | None = None, *, peek: bool = False) -> list[AgentMessage]: ...
    def refuse_cycle(self, owner: str, sender: str) -> None:
        """Raises ToolError if `sender` is waiting for `owner`, directly or not."""
        ...

    async def wait(
        self, owner: str, sender: str | None, timeout_s: float | None
    ) -> AgentMessage | str | None:
        """The next message; a sentence if none will come; None on timeout."""
        ...


class AgentTeam(Protocol):
    """All agents of a session, at any depth, by id."""

    @property
    def mail(self) -> Mail: ...
    def catalog(self, *, fresh: bool = False) -> "AgentCatalog": ...
    async def restore(self) -> None: ...
    def describe(self, caller: str) -> str:
        """The agents that `caller` may start, for a prompt."""
        ...

    async def delegate(self, orders: Sequence[TaskOrder], caller: str, ctx: CodingContext) -> ToolOutput:
        """Start agents for a tool call, in the background if they may."""
        ...

    async def run(self, order: TaskOrder, caller: str) -> SingleResult:
        """Start one agent and wait for its result. Raises ToolError."""
        ...

    def subscribe(self, listener: TeamListener) -> Callable[[], None]:
        """`event` comes with each event of an agent's session, `progress` at most every 150 ms."""
        ...

    def rows(self) -> list[AgentProgress]:
        """All agents, in the order in which they were started."""
        ...

    def row(self, id: str) -> AgentProgress | None: ...
    def result(self, id: str) -> SingleResult | None: ...
    def log_path(self, id: str) -> Path: ...
    def unfinished(self, id: str) -> Sequence[AgentEvent]:
        """What happens in its session and is not in its log yet."""
        ...

    def stop(self, id: str) -> bool:
        """Stop an agent and those it started; False if none worked. Raises UsageError."""
        ...

    def stop_all(self) -> int: ...
    async def wake(self, id: str) -> None:
        """Revive a parked agent. Raises TauError."""
        ...

    async def dismiss(self, id: str) -> None:
        """Forget an agent that does not work; its files stay. Raises UsageError."""
        ...

    def has_copy(self, id: str) -> bool:
        """Whether it works in a copy that still exists."""
        ...

    async def apply(self, id: str) -> str:
        """Merge the kept changes of an isolated agent; a sentence says how it went. Raises TauError."""
        ...

    async def discard(self, id: str) -> str: ...
    async def diff(self, id: str) -> str: ...
