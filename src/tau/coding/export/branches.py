"""A session as something to read: its entries without what could do harm, cut where its branches part."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tau.ai.wire import UserMessage
from tau.base.text import plain
from tau.coding.export.secrets import Masker
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.snippets import message_text
from tau.coding.session.storage.blobs import Blobs
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.titles import first_words

# What is somebody's word, or stands for it. A branch without any of these is not worth a place of its own.
TOLD = frozenset({"message", "custom_message", "compaction", "branch_summary"})
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # what turns text around


class BranchSegment(Struct, frozen=True):
    """Entries that follow one another without a branch. `parent` is the place of the one before; -1 is none.

    `siblings` are the places of all that go on from the same entry, this one among them.
    """

    place: int
    parent: int
    active: bool
    nodes: list[EntryNode]
    siblings: list[int]


class ExportedSession:
    """A session's entries as they may be shown, and the pieces that its tree consists of."""

    def __init__(self, log: SessionLog, masker: Masker | None) -> None:
        self.log = log
        self.masker = masker
        self._blobs = Blobs(log.blobs)

    def entry(self, node: EntryNode) -> s.KnownEntry | None:
        """The entry with its images in it and its secrets masked; None if it is none that we know."""
        value = self.value(node)
        try:
            entry: s.KnownEntry = msgspec.convert(self.shown(value), s.KnownEntry)
            return entry
        except (msgspec.ValidationError, RecursionError):
            return None

    def value(self, node: EntryNode) -> Any:
        """The entry as it is kept, as plain JSON, with its images in it; None if it cannot be read."""
        try:
            return msgspec.json.decode(self._blobs.inlined(self.log.line(node), self._warn))
        except (ValueError, RecursionError):
            return None

    def shown(self, value: Any) -> Any:
        cleaned = _cleaned(value)
        return cleaned if self.masker is None else self.masker.value(cleaned)

    def text(self, text: str) -> str:
        cleaned = visible(text)
        return cleaned if self.masker is None else self.masker.text(cleaned)

    def title(self) -> str:
        """The session's name, or the first words of it."""
        if self.log.name:
            return self.text(self.log.name)
        for node in self.log.nodes():
            entry = self.entry(node) if node.type == "message" else None
            if isinstance(entry, s.MessageEntry) and isinstance(entry.message, UserMessage):
                return first_words(message_text(entry.message.content))
        return "Session"

    def segments(self) -> list[BranchSegment]:
        """In the order of the file, so that each comes after the one that it goes on from."""
        kept = _worth_telling(self.log)
        leaf = self.log.leaf
        active = {node.id for node in self.log.branch()}
        children: dict[str | None, int] = {}
        for node in kept:
            children[node.parent_id] = children.get(node.parent_id, 0) + 1
        at: dict[str, int] = {}
        found: list[BranchSegment] = []
        beginnings: dict[str | None, list[int]] = {}
        for node in kept:
            before = -1 if node.parent_id is None else at.get(node.parent_id, -1)
            parts = before < 0 or children[node.parent_id] > 1 or node.parent_id == leaf
            if parts:
                siblings = beginnings.setdefault(node.parent_id, [])
                siblings.append(len(found))
                found.append(BranchSegment(len(found), before, node.id in active, [], siblings))
            place = len(found) - 1 if parts else before
            at[node.id] = place
            found[place].nodes.append(node)
        return found

    def branch(self) -> Iterator[tuple[EntryNode, s.KnownEntry | None]]:
        """The active branch, entry by entry."""
        for node in self.log.branch():
            yield node, self.entry(node)

    def _warn(self, warning: str) -> None:
        if warning not in self.log.warnings:
            self.log.warnings.append(warning)


def visible(text: str) -> str:
    """Text that shows what it is: no control characters, and what would turn it around is spelled out."""
    if text.isascii() and text.isprintable():
        return text
    if not text.isascii():
        text = _TURNS.sub(lambda match: f"⟦U+{ord(match.group()):04X}⟧", text)
    return plain(text)


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return value


def _worth_telling(log: SessionLog) -> Sequence[EntryNode]:
    """Entries that somebody's words follow or are: a branch of notes only is left out."""
    nodes = list(log.nodes())
    telling: set[str] = set()
    for node in reversed(nodes):
        if (node.type in TOLD or node.id in telling) and node.parent_id is not None:
            telling.add(node.parent_id)
    return [node for node in nodes if node.type in TOLD or node.id in telling]
