"""Messages and their parts, as stored in session files and sent over pipes.

snake_case here, camelCase outside. A field that may be absent is `UNSET`, never null.
"""

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]


class TextContent(Struct, frozen=True, gc=False, rename="camel", tag_field="type", tag="text"):
    text: str
    text_signature: str | UnsetType = UNSET


class ThinkingContent(Struct, frozen=True, gc=False, rename="camel", tag_field="type", tag="thinking"):
    thinking: str
    thinking_signature: str | UnsetType = UNSET  # opaque, like all signatures: only its issuer can read it
    redacted: bool | UnsetType = UNSET


class ImageContent(Struct, frozen=True, gc=False, rename="camel", tag_field="type", tag="image"):
    data: str  # base64
    mime_type: str


class ToolCall(Struct, frozen=True, rename="camel", tag_field="type", tag="toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | UnsetType = UNSET
    custom_wire_name: str | UnsetType = UNSET  # of a tool that takes text: `arguments` has it as `input`


UserContent: TypeAlias = TextContent | ImageContent
AssistantContent: TypeAlias = TextContent | ThinkingContent | ToolCall


class Cost(Struct, frozen=True, gc=False, rename="camel"):
    """US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0


class CacheLifetimes(Struct, frozen=True, gc=False):
    """Tokens written to the cache, by how long they stay there."""

    ephemeral_5m: int = field(default=0, name="ephemeral5m")
    ephemeral_1h: int = field(default=0, name="ephemeral1h")


class CacheMiss(Struct, frozen=True, gc=False):
    """Why the server's cache did not have the whole beginning of a request, in the server's own word.

    `tokens` is how many it would have read otherwise.
    """

    reason: str
    tokens: int = 0


class Usage(Struct, frozen=True, gc=False, rename="camel"):
    """Tokens of one answer. `input` excludes cache reads and writes; `output` includes reasoning."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost = Cost()
    reasoning_tokens: int | UnsetType = UNSET
    cttl: CacheLifetimes | UnsetType = UNSET
    cache_miss: CacheMiss | UnsetType = UNSET


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
    """`address` is the scheme and host of the server that issued the signatures in `content`.

    `provider_payload` has the server's blocks of unknown kinds, each with its index in the answer.
    `upstream_provider` is who answered behind a router.
    """

    content: list[AssistantContent]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: StopReason
    timestamp: int
    error_message: str | UnsetType = UNSET
    address: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    upstream_provider: str | UnsetType = UNSET
    provider_payload: Any = UNSET

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


def issuer_address(base_url: str) -> str:
    """Scheme and host of a URL. The rest identifies no server, and may hold a key."""
    scheme, _, rest = base_url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0].rpartition('@')[2]}".lower()


def is_signed(content: Sequence[AssistantContent]) -> bool:
    """Whether any part is opaque: bound to whoever issued it."""
    return any(signature_of(part) for part in content)


def signature_of(part: AssistantContent) -> str:
    """The opaque data of a part; empty if it has none."""
    match part:
        case TextContent():
            signature = part.text_signature
        case ThinkingContent():
            signature = part.thinking_signature
        case ToolCall():
            signature = part.thought_signature
    return "" if isinstance(signature, UnsetType) else signature


def without_signature(part: AssistantContent) -> AssistantContent | None:
    """The part as any server takes it; None if nothing remains of it."""
    match part:
        case TextContent():
            return TextContent(part.text)
        case ThinkingContent():
            return (
                None if part.redacted is True or not part.thinking.strip() else ThinkingContent(part.thinking)
            )
        case ToolCall():
            return ToolCall(part.id, part.name, part.arguments, UNSET, part.custom_wire_name)


def text_of(parts: Sequence[UserContent]) -> str:
    """The text of a message or tool result, without images."""
    return "\n".join(part.text for part in parts if isinstance(part, TextContent))
