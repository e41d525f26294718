"""The conversation of a session as pages of messages."""

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tau.base.sizes import KIB
from tau.coding.session.context import EntryNode, build_context
from tau.coding.session.storage.log import SessionLog
from tau.modes.event_json import encode_masked
from tau.modes.serve.errors import stale

MAX_PAGE_BYTES = 768 * KIB
DEFAULT_MESSAGES = 50
_TYPES = {"message", "custom_message", "branch_summary", "compaction"}


class PageQuery(Struct, frozen=True):
    """`before`: only messages before this entry."""

    before: str = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = DEFAULT_MESSAGES


class TranscriptMessage(Struct, frozen=True, rename="camel"):
    entry_id: str
    message: Raw


class MessagesBefore(Struct, frozen=True):
    """In order. `before` asks for the page before this one."""

    messages: list[TranscriptMessage]
    before: str | UnsetType = UNSET


def message_page(log: SessionLog, limit: int, before: str = "") -> MessagesBefore:
    """The latest messages of the branch, compacted ones included. Raises HttpError."""
    nodes = [node for node in log.branch() if node.type in _TYPES]
    end = len(nodes)
    if before:
        end = next((at for at, node in enumerate(nodes) if node.id == before), -1)
        if end < 0:
            raise stale("The session has no such entry on its current branch; start again without before.")
    page: list[TranscriptMessage] = []
    size = 0
    at = end
    while at > 0 and len(page) < limit:
        encoded = _encoded(log, nodes[at - 1])
        size += len(encoded or b"")
        if page and size > MAX_PAGE_BYTES:
            break
        at -= 1
        if encoded is not None:
            page.append(TranscriptMessage(nodes[at].id, Raw(encoded)))
    page.reverse()
    return MessagesBefore(page, nodes[at].id if at > 0 else UNSET)


def _encoded(log: SessionLog, node: EntryNode) -> bytes | None:
    """The message of an entry; None if the entry is damaged."""
    items = build_context([node], log.decode).items
    return encode_masked(items[-1].message) if items else None
