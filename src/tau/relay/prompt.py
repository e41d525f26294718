"""Builds the prompt of a message: prefixes, intro, notes on files and aborts."""

import time
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from tau.relay.message import ChatFile, InboundMessage
from tau.relay.sessions import ChatSession
from tau.relay.settings import InboundSettings
from tau.relay.template import fill

ABORT_NOTE = "Note: The user aborted the previous run. Resume carefully or ask what to do."
MEDIA_NOTE = (
    "To send a file back, add a line like: MEDIA:https://example.com/image.jpg (no spaces). "
    "Keep the caption in the text."
)


def template_values(
    message: InboundMessage, body: str, session: ChatSession, transcript: str = ""
) -> dict[str, str]:
    """The variables of templates."""
    first = message.files[0] if message.files else None
    return {
        "Body": message.body,
        "BodyStripped": body,
        "From": message.sender,
        "To": message.account,
        "MessageSid": message.id,
        "MediaPath": first.path if first else "",
        "MediaUrl": first.url if first else "",
        "MediaType": first.type if first else "",
        "Transcript": transcript,
        "SessionId": session.session_id,
        "IsNewSession": "false" if session.started else "true",
        "ChatType": "group" if message.is_group else "direct",
        "GroupSubject": message.group_name,
        "SenderName": message.sender_name,
    }


def build_prompt(
    settings: InboundSettings,
    messages: Sequence[InboundMessage],
    body: str,
    session: ChatSession,
    values: dict[str, str],
    history: Sequence[str] = (),
) -> str:
    """The text that follows the identity prefix."""
    reply, last = settings.reply, messages[-1]
    is_first = not session.started
    has_system = reply.session.send_system_once and session.system_sent
    text = f"{timestamp(settings.timestamp_prefix, last.sent_ms)}{settings.message_prefix}{body}"
    if last.is_group:
        name = last.sender_name or last.sender
        text = f"{text}\n[from: {name} ({last.sender})]"
        if history:
            earlier = "\n".join(history)
            text = (
                f"[Chat messages since your last reply - for context]\n{earlier}\n"
                f"[Current message - respond to this]\n{text}"
            )
    if reply.body_prefix and not has_system:
        text = fill(reply.body_prefix, values) + text
    if reply.template and not has_system:
        text = f"{fill(reply.template, values)}\n\n{text}"
    if reply.session.session_intro and is_first:
        text = f"{fill(reply.session.session_intro, values)}\n\n{text}"
    if session.aborted_last_run:
        text = f"{ABORT_NOTE}\n\n{text}"
    if values["Transcript"]:
        text = f"{text}\n\nTranscript:\n{values['Transcript']}"
    files = [file for message in messages for file in message.files]
    notes = [_file_note(file) for file in files]
    return "\n".join([*notes, MEDIA_NOTE, text]) if notes else text


def _file_note(file: ChatFile) -> str:
    type, url = f" ({file.type})" if file.type else "", f" | {file.url}" if file.url else ""
    return f"[media attached: {file.path}{type}{url}]"


def timestamp(setting: bool | str, sent_ms: int) -> str:
    """Such as "[Dec 2 10:00] "."""
    if setting is False:
        return ""
    zone = ZoneInfo(setting if isinstance(setting, str) else "UTC")
    moment = datetime.fromtimestamp(sent_ms / 1000 if sent_ms else time.time(), zone)
    return f"[{moment:%b} {moment.day} {moment:%H:%M}] "
