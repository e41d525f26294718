"""A session for readers: sanitized entries, split into segments at branch points."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tau.ai.wire import UserMessage
from tau.base.secrets import SecretMask
from tau.base.text import plain
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.snippets import message_text
from tau.coding.session.storage.blobs import Blobs
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.titles import first_words

# Entries with content. A branch without any of these is not shown.
CONTENT_TYPES = frozenset({"message", "custom_message", "compaction", "branch_summary"})


class BranchSegment(Struct, frozen=True):
    """Consecutive entries without a branch. `parent` is the index of the previous segment, or -1.

    `siblings` are the indexes of all segments that continue from the same entry, this one included.
    """

    index: int
    parent: int
    active: bool
    nodes: list[EntryNode]
    siblings: list[int]


class ExportedSession:
    """A session's entries, safe to show, and the segments of its tree."""

    def __init__(self, log: SessionLog, masker: SecretMask | None) -> None:
        self.log = log
        self.masker = masker
        self._blobs = Blobs(log.blobs)

    def entry(self, node: EntryNode) -> s.KnownEntry | None:
        """The entry with its images inlined and secrets masked; None if its type is unknown."""
        value = self.value(node)
        try:
            entry: s.KnownEntry = msgspec.convert(self.sanitize(value), s.KnownEntry)
            return entry
        except (msgspec.ValidationError, RecursionError):
            return None

    def value(self, node: EntryNode) -> Any:
        """The stored entry as plain JSON with its images inlined; None if it cannot be read."""
        try:
            return msgspec.json.decode(self._blobs.inline(self.log.line(node), self.log.warn))
        except (ValueError, RecursionError):
            return None

    def sanitize(self, value: object) -> object:
        cleaned = _clean_value(value)
        return cleaned if self.masker is None else self.masker.mask_value(cleaned)

    def text(self, text: str) -> str:
        cleaned = visible(text)
        return cleaned if self.masker is None else self.masker.mask(cleaned)

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
        kept = _nodes_with_content(self.log)
        leaf = self.log.leaf
        active = {node.id for node in self.log.branch()}
        children: dict[str | None, int] = {}
        for node in kept:
            children[node.parent_id] = children.get(node.parent_id, 0) + 1
        segment_of: dict[str, int] = {}
        result: list[BranchSegment] = []
        siblings_of: dict[str | None, list[int]] = {}
        for node in kept:
            before = -1 if node.parent_id is None else segment_of.get(node.parent_id, -1)
            starts_segment = before < 0 or children[node.parent_id] > 1 or node.parent_id == leaf
            if starts_segment:
                siblings = siblings_of.setdefault(node.parent_id, [])
                siblings.append(len(result))
                result.append(BranchSegment(len(result), before, node.id in active, [], siblings))
            index = len(result) - 1 if starts_segment else before
            segment_of[node.id] = index
            result[index].nodes.append(node)
        return result

    def branch(self) -> Iterator[tuple[EntryNode, s.KnownEntry | None]]:
        for node in self.log.branch():
            yield node, self.entry(node)


def visible(text: str) -> str:
    """Text without control characters; hidden ones are spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return plain(text)


def _clean_value(value: object) -> object:
    match value:
        case str():
            return visible(value)
        case list():
            return [_clean_value(item) for item in value]
        case dict():
            return {_clean_value(key): _clean_value(item) for key, item in value.items()}
    return value


def _nodes_with_content(log: SessionLog) -> Sequence[EntryNode]:
    """Entries that have content or lead to some; omits branches with notes only."""
    nodes = list(log.nodes())
    ancestors: set[str] = set()
    for node in reversed(nodes):
        if (node.type in CONTENT_TYPES or node.id in ancestors) and node.parent_id is not None:
            ancestors.add(node.parent_id)
    return [node for node in nodes if node.type in CONTENT_TYPES or node.id in ancestors]
