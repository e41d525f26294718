"""The lines of a session file: a header, then entries that form a tree by `id` and `parentId`."""

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tau.ai.history import cleaned
from tau.ai.wire import AppMessage

VERSION = 3


class SessionHeader(Struct, frozen=True, rename="camel", tag_field="type", tag="session", kw_only=True):
    version: int = VERSION
    id: str
    timestamp: str
    cwd: str
    parent_session: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class Entry(Struct, frozen=True, rename="camel"):
    """What every entry has. `raw` is the whole line: what we do not understand stays as it is."""

    type: str
    id: str
    parent_id: str | None
    timestamp: str
    raw: Raw = Raw(b"")


class MessageEntry(Struct, frozen=True, rename="camel", tag_field="type", tag="message"):
    id: str
    parent_id: str | None
    timestamp: str
    message: AppMessage


class ModelChange(Struct, frozen=True, rename="camel", tag_field="type", tag="model_change"):
    id: str
    parent_id: str | None
    timestamp: str
    provider: str
    model_id: str


class ThinkingLevelChange(Struct, frozen=True, rename="camel", tag_field="type", tag="thinking_level_change"):
    id: str
    parent_id: str | None
    timestamp: str
    thinking_level: str


KnownEntry: TypeAlias = MessageEntry | ModelChange | ThinkingLevelChange
KNOWN_TYPES = frozenset({"message", "model_change", "thinking_level_change"})

_entry_decoder = msgspec.json.Decoder(Entry)
_known_decoder: msgspec.json.Decoder[KnownEntry] = msgspec.json.Decoder(KnownEntry)
_header_decoder = msgspec.json.Decoder(SessionHeader)


def decode_header(line: bytes) -> SessionHeader:
    return _header_decoder.decode(line)


def decode_entry(line: bytes) -> Entry:
    """The first of two steps: enough to place an entry in the tree, whatever it is."""
    entry = _entry_decoder.decode(line)
    return Entry(entry.type, entry.id, entry.parent_id, entry.timestamp, Raw(line))


def decode_known(entry: Entry) -> KnownEntry | None:
    """The second step: the whole entry, or None if its kind or its message is unknown to us."""
    if entry.type not in KNOWN_TYPES:
        return None
    try:
        return _known_decoder.decode(entry.raw)
    except msgspec.DecodeError:
        return None


def encode(entry: SessionHeader | KnownEntry) -> bytes:
    try:
        return msgspec.json.encode(entry, enc_hook=_plain)
    except UnicodeEncodeError:  # half of a surrogate pair, from a model or from a file's name
        return msgspec.json.encode(cleaned(msgspec.to_builtins(entry, enc_hook=_plain, str_keys=True)))


def _plain(value: Any) -> Any:
    """Tools may put anything into `details`; what JSON has no word for is written as its text."""
    return str(value)
