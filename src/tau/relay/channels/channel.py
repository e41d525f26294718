"""What all channels have in common."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from msgspec import Struct

from tau.base.errors import TauError
from tau.relay.message import ChatFile, InboundMessage


class ChannelLimits(Struct, frozen=True, kw_only=True):
    """`deduplicates`: a part that is sent twice with the same key arrives once."""

    text_units: int = 4000
    media: bool = True
    typing: bool = True
    choices: bool = False
    deduplicates: bool = False


class ChannelDown(TauError):
    """The channel is not connected: the part was certainly not sent, and will be once it is.

    `wait_s`: how long the service wants to be left alone.
    """

    def __init__(self, message: str, *, wait_s: float = 0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ChannelRejected(TauError):
    """The channel refused the part for good."""


class ChannelLink(NamedTuple):
    """What the relay gives a channel: a group for its tasks, and what to call once it is connected.

    A channel that only sends and does not listen must leave messages where they wait.
    """

    group: asyncio.TaskGroup
    connected: Callable[[], None]
    listens: bool = True


class ChatChannel:
    """A channel: subclasses say what they can do in `limits`, and leave out what they cannot."""

    name = ""
    limits = ChannelLimits()

    async def start(self, link: ChannelLink) -> None:
        """Connect. Raises TauError if that can never work, such as a wrong password."""
        raise NotImplementedError

    def events(self) -> AsyncIterator[InboundMessage]:
        """Messages as they come; ends when the channel does."""
        raise NotImplementedError

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        """Send and return the message id. `key` names the part. Raises ChannelDown, ChannelRejected."""
        raise NotImplementedError

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        raise ChannelRejected("This channel sends no files.")

    async def fetch(self, file: ChatFile) -> ChatFile:
        """Download a file of an admitted sender. Raises ChannelRejected with the reason."""
        raise ChannelRejected("this channel has no files")

    async def typing(self, chat: str, on: bool) -> None:
        pass

    async def mark_read(self, message: InboundMessage) -> None:
        pass

    async def close(self) -> None:
        pass
