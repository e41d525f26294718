"""Events of a streaming answer. Each carries only its delta.

Modes that send the whole partial message with each event (JSON, RPC) add it themselves.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from tau.ai.wire import AssistantMessage, ToolCall


class Start(Struct, frozen=True, rename="camel", tag_field="type", tag="start"):
    pass


class TextStart(Struct, frozen=True, rename="camel", tag_field="type", tag="text_start"):
    content_index: int


class TextDelta(Struct, frozen=True, rename="camel", tag_field="type", tag="text_delta", gc=False):
    content_index: int
    delta: str


class TextEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="text_end"):
    content_index: int
    content: str


class ThinkingStart(Struct, frozen=True, rename="camel", tag_field="type", tag="thinking_start"):
    content_index: int


class ThinkingDelta(Struct, frozen=True, rename="camel", tag_field="type", tag="thinking_delta", gc=False):
    content_index: int
    delta: str


class ThinkingEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="thinking_end"):
    content_index: int
    content: str


class ToolCallStart(Struct, frozen=True, rename="camel", tag_field="type", tag="toolcall_start"):
    content_index: int
    id: str
    name: str


class ToolCallDelta(Struct, frozen=True, rename="camel", tag_field="type", tag="toolcall_delta", gc=False):
    content_index: int
    delta: str


class ToolCallEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="toolcall_end"):
    content_index: int
    tool_call: ToolCall


class StreamDone(Struct, frozen=True, rename="camel", tag_field="type", tag="done"):
    reason: Literal["stop", "length", "toolUse"]
    message: AssistantMessage


class StreamError(Struct, frozen=True, rename="camel", tag_field="type", tag="error"):
    reason: Literal["aborted", "error"]
    error: AssistantMessage


AssistantMessageEvent: TypeAlias = (
    Start
    | TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | StreamDone
    | StreamError
)
