"""The output of a tool call."""

from typing import Any

from msgspec import UNSET, Struct

from tau.ai.wire import TextContent, UserContent


class ToolOutput(Struct, frozen=True):
    """`content` is for the model, `details` (one struct per tool) for people."""

    content: list[UserContent]
    details: Any = UNSET
    is_error: bool = False

    @classmethod
    def text(cls, text: str, details: Any = UNSET, *, is_error: bool = False) -> "ToolOutput":
        return cls([TextContent(text)], details, is_error)
