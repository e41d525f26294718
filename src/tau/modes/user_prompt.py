"""One user prompt."""

from typing import TYPE_CHECKING

from msgspec import Struct

from tau.ai.wire import ImageContent

if TYPE_CHECKING:
    from tau.coding.session.session import Session


class UserPrompt(Struct, frozen=True):
    text: str
    images: tuple[ImageContent, ...] = ()


def expanded(session: "Session", prompt: UserPrompt) -> str:
    """The text to send: of a slash command that a file defines, its prompt. Raises ConfigError."""
    return session.supplies().expand(prompt.text) if prompt.text.startswith("/") else prompt.text
