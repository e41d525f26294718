"""Messages and their parts, as stored in session files and sent over pipes.

snake_case here, camelCase outside. A field that may be absent is `UNSET`, never null.
"""

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]


class TextContent(Struct, frozen=True, gc=False, rename="camel", tag_field="type", tag="text"):
    text: str
    text_signature: str | UnsetType = UNSET


class ThinkingContent(Struct, frozen=True, gc=False, rename="camel", tag_field="type", tag="thinking"):
    thinking: str
    thinking_signature: str | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET


class ImageContent(Struct, frozen=True, gc=False, rename="camel", tag_field="type", tag="image"):
    data: str  # base64
    mime_type: str


class ToolCall(Struct, frozen=True, rename="camel", tag_field="type", tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | UnsetType = UNSET


UserContent: TypeAlias = TextContent | ImageContent
AssistantContent: TypeAlias = TextContent | ThinkingContent | ToolCall


class Cost(Struct, frozen=True, gc=False, rename="camel"):
    """US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0


class Usage(Struct, frozen=True, gc=False, rename="camel"):
    """Tokens of one answer. `input` excludes cache reads and writes."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost = Cost()


class Attachment(Struct, frozen=True, rename="camel"):
    id: str
    type: Literal["image", "document"]
    file_name: str
    mime_type: str
    size: int
    content: str  # base64
    extracted_text: str | UnsetType = UNSET
    preview: str | UnsetType = UNSET


class UserMessage(Struct, frozen=True, gc=False, rename="camel", tag_field="role", tag="user"):
    content: str | list[UserContent]
    timestamp: int  # Unix time in milliseconds, here and below
    attachments: list[Attachment] | UnsetType = UNSET


class AssistantMessage(Struct, frozen=True, rename="camel", tag_field="role", tag="assistant"):
    content: list[AssistantContent]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: StopReason
    timestamp: int
    error_message: str | UnsetType = UNSET

    @property
    def text(self) -> str:
        """The answer's text, without thinking and tool calls."""
        return "".join(part.text for part in self.content if isinstance(part, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        return [part for part in self.content if isinstance(part, ToolCall)]


class ToolResultMessage(Struct, frozen=True, rename="camel", tag_field="role", tag="toolResult"):
    tool_call_id: str
    tool_name: str
    content: list[UserContent]
    is_error: bool
    timestamp: int
    details: Any = UNSET


class BashExecutionMessage(Struct, frozen=True, rename="camel", tag_field="role", tag="bashExecution"):
    """A command run by the user, not the model."""

    command: str
    output: str
    exit_code: int | None
    cancelled: bool
    truncated: bool
    timestamp: int
    full_output_path: str | UnsetType = UNSET
    exclude_from_context: bool | UnsetType = UNSET


class PythonExecutionMessage(Struct, frozen=True, rename="camel", tag_field="role", tag="pythonExecution"):
    """Python run by the user, not the model."""

    code: str
    output: str
    exit_code: int | None
    cancelled: bool
    truncated: bool
    timestamp: int
    full_output_path: str | UnsetType = UNSET
    exclude_from_context: bool | UnsetType = UNSET


class CustomMessage(Struct, frozen=True, rename="camel", tag_field="role", tag="custom"):
    """A message for the model from neither the user nor the model."""

    custom_type: str
    content: str | list[UserContent]
    display: bool
    timestamp: int
    details: Any = UNSET


class BranchSummaryMessage(Struct, frozen=True, rename="camel", tag_field="role", tag="branchSummary"):
    """Summary of a branch the user left."""

    summary: str
    from_id: str
    timestamp: int


class CompactionSummaryMessage(
    Struct, frozen=True, rename="camel", tag_field="role", tag="compactionSummary"
):
    """Summary that replaces older messages."""

    summary: str
    tokens_before: int
    timestamp: int


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage
AppMessage: TypeAlias = (
    Message
    | BashExecutionMessage
    | PythonExecutionMessage
    | CustomMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
)


def new_call_id() -> str:
    """Create an id for a tool call without one: results are matched by it."""
    return f"call_{os.urandom(10).hex()}"


def text_of(parts: Sequence[UserContent]) -> str:
    """The text of a message or tool result, without images."""
    return "\n".join(part.text for part in parts if isinstance(part, TextContent))
