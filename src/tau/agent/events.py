"""What happened, as facts. The tag is the name on the wire; consumers `match` on the class."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from tau.ai.stream_events import AssistantMessageEvent
from tau.ai.wire import AppMessage, AssistantMessage, ToolResultMessage, UserContent


class AgentStart(Struct, frozen=True, rename="camel", tag_field="type", tag="agent_start"):
    pass


class AgentEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="agent_end"):
    messages: list[AppMessage]


class TurnStart(Struct, frozen=True, rename="camel", tag_field="type", tag="turn_start"):
    pass


class TurnEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="turn_end"):
    message: AssistantMessage
    tool_results: list[ToolResultMessage]


class MessageStart(Struct, frozen=True, rename="camel", tag_field="type", tag="message_start"):
    message: AppMessage


class MessageUpdate(Struct, frozen=True, rename="camel", tag_field="type", tag="message_update", gc=False):
    """The delta only. The JSON writers add `message` and `partial`."""

    assistant_message_event: AssistantMessageEvent


class MessageEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="message_end"):
    message: AppMessage


class ToolResult(Struct, frozen=True, rename="camel"):
    """A tool's output as the protocol shows it."""

    content: list[UserContent]
    details: Any = UNSET


class ToolStart(Struct, frozen=True, rename="camel", tag_field="type", tag="tool_execution_start"):
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]


class ToolUpdate(Struct, frozen=True, rename="camel", tag_field="type", tag="tool_execution_update"):
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    partial_result: ToolResult


class ToolEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="tool_execution_end"):
    """`result` is a plain string where the call failed."""

    tool_call_id: str
    tool_name: str
    result: ToolResult | str
    is_error: bool


class RetryStart(Struct, frozen=True, rename="camel", tag_field="type", tag="auto_retry_start"):
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class RetryEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="auto_retry_end"):
    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class Notice(Struct, frozen=True, rename="camel", tag_field="type", tag="notice"):
    level: Literal["info", "warning", "error"]
    message: str
    source: str | UnsetType = UNSET


AgentEvent: TypeAlias = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolStart
    | ToolUpdate
    | ToolEnd
    | RetryStart
    | RetryEnd
    | Notice
)
