"""One user prompt."""

from msgspec import Struct

from tau.ai.wire import ImageContent


class UserPrompt(Struct, frozen=True):
    text: str
    images: tuple[ImageContent, ...] = ()
