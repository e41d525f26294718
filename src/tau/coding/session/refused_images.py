"""Removes images that a server refused from the context; the log keeps them."""

from collections.abc import Iterable, Sequence

from tau.agent.events import Notice
from tau.ai.model import Model
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from tau.base.errors import ProviderError
from tau.base.sizes import format_bytes
from tau.base.text import sentence, shortened
from tau.coding.session.context import ContextItem
from tau.coding.session.entries import ContentReplacement, ContextEdit
from tau.coding.session.storage.log import SessionLog

MAX_REASON_CHARS = 300


def quarantine(log: SessionLog, model: Model, error: ProviderError) -> Notice | None:
    """Replace the suspect images with notes. Returns a notice for the user, None if there are no images.

    A server rarely says which image it means. Suspects are the images since its last answer, or else all.
    """
    items = log.context().items
    suspects = list(_with_images(items[_answered(items, model) :])) or list(_with_images(items))
    if not suspects:
        return None
    reason = shortened(str(error), MAX_REASON_CHARS)
    count = 0
    for id, content in suspects:
        count += sum(isinstance(part, ImageContent) for part in content)
        log.append(
            ContextEdit(target_id=id, replacement=ContentReplacement([_noted(p, reason) for p in content]))
        )
    what = "An image was" if count == 1 else f"{count} images were"
    kept = "it stays" if count == 1 else "they stay"
    return Notice("warning", f"{what} left out, though {kept} in the session: {sentence(str(error))}")


def _answered(items: Sequence[ContextItem], model: Model) -> int:
    """The index after the latest complete answer of this model."""
    for place in range(len(items) - 1, -1, -1):
        message = items[place].message
        if (
            isinstance(message, AssistantMessage)
            and message.stop_reason not in ("error", "aborted")
            and (message.provider, message.model) == (model.provider, model.id)
        ):
            return place + 1
    return 0


def _with_images(items: Iterable[ContextItem]) -> Iterable[tuple[str, list[UserContent]]]:
    for item in items:
        content = _parts(item.message)
        if any(isinstance(part, ImageContent) for part in content):
            yield item.id, content


def _parts(message: AppMessage) -> list[UserContent]:
    match message:
        case UserMessage() | CustomMessage():
            return [] if isinstance(message.content, str) else message.content
        case ToolResultMessage():
            return message.content
    return []


def _noted(part: UserContent, reason: str) -> UserContent:
    if not isinstance(part, ImageContent):
        return part
    size = format_bytes(len(part.data) * 3 // 4)
    return TextContent(f"[An image was here ({part.mime_type}, {size}); the server refused it: {reason}]")
