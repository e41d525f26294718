"""Messages as channels deliver them."""

from msgspec import Struct


class ChatFile(Struct, frozen=True, rename="camel"):
    """A file that came with a message; `token` is what its channel needs to fetch it, until `path` is set."""

    path: str = ""
    type: str = ""
    url: str = ""
    token: str = ""


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
