"""Messages as channels deliver them."""

from pathlib import Path

from msgspec import Struct


class ChatFile(Struct, frozen=True, rename="camel"):
    """A file that came with a message."""

    path: str
    type: str = ""
    url: str = ""


class InboundMessage(Struct, frozen=True, kw_only=True, rename="camel"):
    """One message; `id` is unique within its channel and account."""

    channel: str
    account: str
    id: str
    chat: str
    sender: str
    body: str
    sender_name: str = ""
    is_group: bool = False
    group_name: str = ""
    mentioned: bool = False
    files: tuple[ChatFile, ...] = ()
    sent_ms: int = 0


class OutboundFile(Struct, frozen=True, rename="camel"):
    """A file to send: a local one that passed the checks, or a public URL."""

    path: Path | None
    url: str = ""
    type: str = ""
    caption: str = ""
