"""Texts that were sent before: where they come from, and walking through them without losing the draft."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from tau.tui.widgets.editor.buffer import Position
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.intake import incoming
from tau.tui.widgets.editor.kill_ring import KillRing

EDITED_KEPT = 100
"""So many entries that were changed while walking are kept as they were left."""


class HistoryEntry(NamedTuple):
    """One text; later ones have greater keys."""

    key: int
    text: str


class History(Protocol):
    """What the caller gives; it may read from a file or a data base, an entry at a time."""

    def older(self, than: int | None) -> HistoryEntry | None:
        """The entry before the one with this key; the latest of all for None."""
        ...

    def newer(self, than: int) -> HistoryEntry | None:
        """The entry after the one with this key."""
        ...

    def search(self, words: str, limit: int = 50) -> Sequence[HistoryEntry]:
        """Entries that contain the words, the latest first."""
        ...


class MemoryHistory:
    """A history that lasts as long as the program; the oldest entries make room for new ones."""

    def __init__(self, texts: Sequence[str] = (), *, limit: int = 1_000) -> None:
        self._limit = max(limit, 1)
        self._texts: list[str] = []
        self._first = 0
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Another entry; not if it is blank or the same as the last one."""
        if not text.strip() or (self._texts and self._texts[-1] == text):
            return
        self._texts.append(text)
        if len(self._texts) > self._limit:
            del self._texts[0]
            self._first += 1

    def older(self, than: int | None) -> HistoryEntry | None:
        at = len(self._texts) - 1 if than is None else min(than - self._first, len(self._texts)) - 1
        return HistoryEntry(self._first + at, self._texts[at]) if at >= 0 else None

    def newer(self, than: int) -> HistoryEntry | None:
        at = max(than - self._first + 1, 0)
        return HistoryEntry(self._first + at, self._texts[at]) if at < len(self._texts) else None

    def search(self, words: str, limit: int = 50) -> Sequence[HistoryEntry]:
        wanted = words.casefold().split()
        found: list[HistoryEntry] = []
        for at in range(len(self._texts) - 1, -1, -1):
            if len(found) >= limit:
                break
            folded = self._texts[at].casefold()
            if all(word in folded for word in wanted):
                found.append(HistoryEntry(self._first + at, self._texts[at]))
        return found


class HistoryCursor:
    """A walk through the history. The draft it began with, and entries changed on the way, stay."""

    def __init__(self, history: History | None, kills: KillRing) -> None:
        self.history = history
        self.draft: EditorDocument | None = None
        """The text that was being written when the walk began; None when no walk is going on."""
        self._kills = kills
        self._key = 0
        self._edited: dict[int, EditorDocument] = {}

    def older(self, current: EditorDocument) -> EditorDocument | None:
        """The entry before the one shown, to show now; None if there is none."""
        if self.history is None:
            return None
        entry = self.history.older(None if self.draft is None else self._key)
        if entry is None:
            return None
        self._leave(current)
        document = self._enter(entry)
        document.move(Position(0, len(document.buffer.lines[0])))
        return document

    def newer(self, current: EditorDocument) -> EditorDocument | None:
        """The entry after the one shown, the draft after the last; None if the draft is shown already."""
        if self.history is None or self.draft is None:
            return None
        entry = self.history.newer(self._key)
        self._leave(current)
        if entry is not None:
            return self._enter(entry)
        draft, self.draft = self.draft, None
        return draft

    def texts(self) -> Iterator[str]:
        """All texts that it keeps."""
        for document in (self.draft, *self._edited.values()):
            if document is not None:
                yield from document.texts()

    def _leave(self, current: EditorDocument) -> None:
        if self.draft is None:
            self.draft = current
        elif current.buffer.version:
            self._edited[self._key] = current
            if len(self._edited) > EDITED_KEPT:
                del self._edited[next(iter(self._edited))]

    def _enter(self, entry: HistoryEntry) -> EditorDocument:
        self._key = entry.key
        return self._edited.get(entry.key) or EditorDocument(incoming(entry.text), kills=self._kills)
