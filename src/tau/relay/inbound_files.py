"""Files that came with messages: fetched when their turn comes, removed after a week."""

import time
from pathlib import Path

from msgspec.structs import replace

from tau.relay.channels.channel import ChannelRejected, ChatChannel
from tau.relay.log import RelayLog
from tau.relay.message import InboundMessage

KEEP_S = 7 * 24 * 3600


async def with_files(channel: ChatChannel, message: InboundMessage, log: RelayLog) -> InboundMessage:
    """The message with its files on this machine; those that cannot be fetched are left out and logged."""
    files = []
    for file in message.files:
        try:
            files.append(file if file.path else await channel.fetch(file))
        except ChannelRejected as error:
            problem = f"A file was not fetched: {error}"
            log.write("warn", "media", problem, url=file.url, sender=message.sender)
    return replace(message, files=tuple(files))


def remove_old(folder: Path) -> None:
    oldest = time.time() - KEEP_S
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
