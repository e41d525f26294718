"""A session for readers: sanitized entries, split into segments at branch points."""

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

# Entries with content. A branch without any of these is not shown.
TOLD = frozenset({"message", "custom_message", "compaction", "branch_summary"})
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # bidirectional control characters


class BranchSegment(Struct, frozen=True):
    """Consecutive entries without a branch. `parent` is the index of the previous segment, or -1.

    `siblings` are the indexes of all segments that continue from the same entry, this one included.
    """

    place: int
    parent: int
    active: bool
    nodes: list[EntryNode]
    siblings: list[int]


class ExportedSession:
    """A session's entries, safe to show, and the segments of its tree."""

    def __init__(self, log: SessionLog, masker: Masker | None) -> None:
        self.log = log
        self.masker = masker
        self._blobs = Blobs(log.blobs)

    def entry(self, node: EntryNode) -> s.KnownEntry | None:
        """The entry with its images inlined and secrets masked; None if its type is unknown."""
        value = self.value(node)
        try:
            entry: s.KnownEntry = msgspec.convert(self.shown(value), s.KnownEntry)
            return entry
        except (msgspec.ValidationError, RecursionError):
            return None

    def value(self, node: EntryNode) -> Any:
        """The stored entry as plain JSON with its images inlined; None if it cannot be read."""
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
        """The session's name, or its first words."""
        if self.log.name:
            return self.text(self.log.name)
        for node in self.log.nodes():
            entry = self.entry(node) if node.type == "message" else None
            if isinstance(entry, s.MessageEntry) and isinstance(entry.message, UserMessage):
                return first_words(message_text(entry.message.content))
        return "Session"

    def segments(self) -> list[BranchSegment]:
        """Segments in file order, so that each follows its parent."""
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
        """The entries of the active branch."""
        for node in self.log.branch():
            yield node, self.entry(node)

    def _warn(self, warning: str) -> None:
        if warning not in self.log.warnings:
            self.log.warnings.append(warning)


def visible(text: str) -> str:
    """Text without control characters; bidirectional controls are spelled out."""
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
    """Entries that have content or lead to some; omits branches with notes only."""
    nodes = list(log.nodes())
    telling: set[str] = set()
    for node in reversed(nodes):
        if (node.type in TOLD or node.id in telling) and node.parent_id is not None:
            telling.add(node.parent_id)
    return [node for node in nodes if node.type in TOLD or node.id in telling]
