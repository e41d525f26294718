"""Removes images that a server refused from the context; the log keeps them."""

from collections.abc import Iterable, Sequence

from tau.agent.events import Notice
from tau.ai import wire as w
from tau.ai.model import Model
from tau.base.errors import ProviderError
from tau.base.sizes import format_bytes
from tau.base.text import sentence, shortened
from tau.coding.session.context import ContextItem
from tau.coding.session.entries import ContentReplacement, ContextEdit
from tau.coding.session.storage.log import SessionLog

MAX_REASON_CHARS = 300


def remove_refused_images(log: SessionLog, model: Model, error: ProviderError) -> Notice | None:
    """Replace the suspect images with notes. Returns a notice for the user, None if there are no images.

    A server rarely says which image it means. Suspects are the images since its last answer, or else all.
    """
    items = log.context().items
    suspects = list(_with_images(items[_end_of_last_answer(items, model) :])) or list(_with_images(items))
    if not suspects:
        return None
    reason = shortened(str(error), MAX_REASON_CHARS)
    count = 0
    for id, content in suspects:
        count += sum(isinstance(part, w.ImageContent) for part in content)
        log.append(
            ContextEdit(
                target_id=id, replacement=ContentReplacement([_replace_image(p, reason) for p in content])
            )
        )
    what = "An image was" if count == 1 else f"{count} images were"
    stays = "it stays" if count == 1 else "they stay"
    return Notice("warning", f"{what} left out, though {stays} in the session: {sentence(str(error))}")


def _end_of_last_answer(items: Sequence[ContextItem], model: Model) -> int:
    """The index after the latest complete answer of this model."""
    for index in range(len(items) - 1, -1, -1):
        message = items[index].message
        if (
            isinstance(message, w.AssistantMessage)
            and message.stop_reason not in ("error", "aborted")
            and (message.provider, message.model) == (model.provider, model.id)
        ):
            return index + 1
    return 0


def _with_images(items: Iterable[ContextItem]) -> Iterable[tuple[str, list[w.UserContent]]]:
    for item in items:
        content = _content_parts(item.message)
        if any(isinstance(part, w.ImageContent) for part in content):
            yield item.id, content


def _content_parts(message: w.AppMessage) -> list[w.UserContent]:
    match message:
        case w.UserMessage() | w.CustomMessage():
            return [] if isinstance(message.content, str) else message.content
        case w.ToolResultMessage():
            return message.content
    return []


def _replace_image(part: w.UserContent, reason: str) -> w.UserContent:
    if not isinstance(part, w.ImageContent):
        return part
    size = format_bytes(len(part.data) * 3 // 4)
    return w.TextContent(f"[An image was here ({part.mime_type}, {size}); the server refused it: {reason}]")
