"""Composes the parts of an answer: texts, files, prefixes, chunks."""

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import PurePath

from tau.base.errors import UsageError
from tau.base.files import write_atomic
from tau.relay.answers import NO_OUTPUT, Answer
from tau.relay.chunks import split_text
from tau.relay.journal import OutgoingPart
from tau.relay.media import split_media

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.relay.relay import Relay

MAX_FILES = 10
HEARTBEAT_TOKEN = re.compile(r"[ \t]?HEARTBEAT_OK[ \t]?")


def strip_token(texts: Sequence[str]) -> list[str]:
    """The texts without the token of heartbeats; those that had nothing else are gone."""
    return [text for text in (HEARTBEAT_TOKEN.sub(" ", one).strip() for one in texts) if text]


async def compose(relay: "Relay", answer: Answer, channel: str, chat: str) -> list[OutgoingPart]:
    """The messages to send, in order. Files are copied now, so that a later change does not matter."""
    limits = relay.channels[channel].limits
    parts: list[OutgoingPart] = []
    prefix = relay.config.inbound.response_prefix
    sent = 0
    for text in [*answer.notices, *(strip_token(answer.texts) or [NO_OUTPUT])]:
        body, sources = split_media(text)
        if not sources and answer.media_url and answer.ok:
            sources = [answer.media_url]
        media: list[OutgoingPart] = []
        for source in sources:
            sent += 1
            part: OutgoingPart | str = f"{source} was not sent: too many files."
            if sent <= MAX_FILES:
                part = await asyncio.to_thread(_file, relay, answer, source, chat, limits.media)
            if isinstance(part, str):
                body = f"{body}\n{part}".strip()
            else:
                media.append(part)
        if body and prefix:
            body = f"{prefix} {body}"
        parts += [OutgoingPart("text", chat, chunk) for chunk in split_text(body, limits.text_units)]
        parts += media
    return parts


def _file(relay: "Relay", answer: Answer, source: str, chat: str, can_send: bool) -> OutgoingPart | str:
    """The part that sends a file, or why it is not sent."""
    if source.startswith(("http://", "https://")):
        return OutgoingPart(
            "text", chat, source
        )  # the receiver opens it; the relay fetches no URL of a model
    try:
        data, type = relay.guard.read(source, answer.cwd)
    except UsageError as error:
        relay.log.write("warn", "media", "file refused", source=source, reason=str(error))
        return f"⚠️ {error}"
    if not can_send:
        return f"⚠️ The file {source} was not sent: this channel sends none."
    name = os.urandom(16).hex()
    try:
        write_atomic(relay.home.media / name, data, mode=0o600)
    except OSError as error:
        return f"⚠️ The file {source} was not sent: {error.strerror}."
    shown = PurePath(source).name.replace("|", "_")
    return OutgoingPart("media", chat, f"{name}|{type}|{shown}")
