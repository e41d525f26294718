"""The protocol written down a second time, strictly: a missing, unknown or mistyped field fails."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType


class Strict(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class Text(Strict, tag_field="type", tag="text"):
    text: str
    text_signature: str | UnsetType = UNSET


class Thinking(Strict, tag_field="type", tag="thinking"):
    thinking: str
    thinking_signature: str | UnsetType = UNSET


class Image(Strict, tag_field="type", tag="image"):
    data: str
    mime_type: str


class ToolCall(Strict, tag_field="type", tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | UnsetType = UNSET
    custom_wire_name: str | UnsetType = UNSET


class Cost(Strict):
    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


class Usage(Strict):
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: Cost
    reasoning_tokens: int | UnsetType = UNSET
    cttl: Any = UNSET


class User(Strict, tag_field="role", tag="user"):
    content: str | list[Text | Image]
    timestamp: int


class Assistant(Strict, tag_field="role", tag="assistant"):
    content: list[Text | Thinking | ToolCall]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: Literal["stop", "length", "toolUse", "error", "aborted"]
    timestamp: int
    error_message: str | UnsetType = UNSET
    address: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    upstream_provider: str | UnsetType = UNSET
    provider_payload: Any = UNSET


class ToolResult(Strict, tag_field="role", tag="toolResult"):
    tool_call_id: str
    tool_name: str
    content: list[Text | Image]
    is_error: bool
    timestamp: int
    details: Any = UNSET


Message: TypeAlias = User | Assistant | ToolResult


class TextStart(Strict, tag_field="type", tag="text_start"):
    content_index: int
    partial: Assistant


class TextDelta(Strict, tag_field="type", tag="text_delta"):
    content_index: int
    delta: str
    partial: Assistant


class TextEnd(Strict, tag_field="type", tag="text_end"):
    content_index: int
    content: str
    partial: Assistant


class ThinkingStart(Strict, tag_field="type", tag="thinking_start"):
    content_index: int
    partial: Assistant


class ThinkingDelta(Strict, tag_field="type", tag="thinking_delta"):
    content_index: int
    delta: str
    partial: Assistant


class ThinkingEnd(Strict, tag_field="type", tag="thinking_end"):
    content_index: int
    content: str
    partial: Assistant


class ToolCallStart(Strict, tag_field="type", tag="toolcall_start"):
    content_index: int
    id: str
    tool_name: str
    partial: Assistant


class ToolCallDelta(Strict, tag_field="type", tag="toolcall_delta"):
    content_index: int
    delta: str
    partial: Assistant


class ToolCallEnd(Strict, tag_field="type", tag="toolcall_end"):
    content_index: int
    tool_call: ToolCall
    partial: Assistant


AssistantMessageEvent: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)


class Header(Strict, tag_field="type", tag="session"):
    version: Literal[3]
    id: str
    timestamp: str
    cwd: str


class AgentStart(Strict, tag_field="type", tag="agent_start"):
    pass


class AgentEnd(Strict, tag_field="type", tag="agent_end"):
    messages: list[Message]


class RunError(Strict):
    kind: str
    message: str
    retryAfterMs: int | UnsetType = UNSET


class AgentSettled(Strict, tag_field="type", tag="agent_settled"):
    aborted: bool
    error: RunError | UnsetType = UNSET


class EntryAppended(Strict, tag_field="type", tag="entry_appended"):
    entry: dict[str, Any]


class TurnStart(Strict, tag_field="type", tag="turn_start"):
    pass


class TurnEnd(Strict, tag_field="type", tag="turn_end"):
    message: Assistant
    tool_results: list[ToolResult]


class MessageStart(Strict, tag_field="type", tag="message_start"):
    message: Message


class MessageUpdate(Strict, tag_field="type", tag="message_update"):
    message: Assistant
    assistant_message_event: AssistantMessageEvent


class MessageEnd(Strict, tag_field="type", tag="message_end"):
    message: Message


class Result(Strict):
    content: list[Text | Image]
    details: Any = UNSET


class ToolStart(Strict, tag_field="type", tag="tool_execution_start"):
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]


class ToolUpdate(Strict, tag_field="type", tag="tool_execution_update"):
    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    partial_result: Result


class ToolEnd(Strict, tag_field="type", tag="tool_execution_end"):
    tool_call_id: str
    tool_name: str
    result: Result
    is_error: bool


class RetryStart(Strict, tag_field="type", tag="auto_retry_start"):
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class RetryEnd(Strict, tag_field="type", tag="auto_retry_end"):
    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class Error(Strict, tag_field="type", tag="error"):
    error: str


class Interrupted(Strict, tag_field="type", tag="interrupted"):
    pass


Line: TypeAlias = (
    Header
    | AgentStart
    | AgentEnd
    | AgentSettled
    | EntryAppended
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
    | Error
    | Interrupted
)
