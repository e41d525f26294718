"""Prompt history: its source, and navigation that keeps the draft."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from tau.tui.widgets.editor.buffer import Position
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.intake import clean_input
from tau.tui.widgets.editor.kill_ring import KillRing

EDITED_KEPT = 100
"""How many edited entries are kept during navigation."""


class HistoryEntry(NamedTuple):
    """One text; later ones have greater keys."""

    key: int
    text: str


class History(Protocol):
    """A source of entries; it may read them one at a time from a file or database."""

    def older(self, than: int | None) -> HistoryEntry | None:
        """Return the entry before this key; the latest for None."""
        ...

    def newer(self, than: int) -> HistoryEntry | None:
        """Return the entry after this key."""
        ...

    def search(self, words: str, limit: int = 50) -> Sequence[HistoryEntry]:
        """Return entries that contain the words, latest first."""
        ...


class MemoryHistory:
    """An in-memory history; the oldest entries are dropped at the limit."""

    def __init__(self, texts: Sequence[str] = (), *, limit: int = 1_000) -> None:
        self._limit = max(limit, 1)
        self._texts: list[str] = []
        self._first = 0
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Add an entry, unless it is blank or repeats the last one."""
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
    """Navigates the history. Keeps the draft and entries edited on the way."""

    def __init__(self, history: History | None, kills: KillRing) -> None:
        self.history = history
        self.draft: EditorDocument | None = None
        """The draft set aside during navigation; None otherwise."""
        self._kills = kills
        self._key = 0
        self._edited: dict[int, EditorDocument] = {}

    def older(self, current: EditorDocument) -> EditorDocument | None:
        """Return the entry before the current one; None if there is none."""
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
        """Return the next entry, or the draft after the last; None if already at the draft."""
        if self.history is None or self.draft is None:
            return None
        entry = self.history.newer(self._key)
        self._leave(current)
        if entry is not None:
            return self._enter(entry)
        draft, self.draft = self.draft, None
        return draft

    def texts(self) -> Iterator[str]:
        """Yield all texts that it keeps."""
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
        return self._edited.get(entry.key) or EditorDocument(clean_input(entry.text), kills=self._kills)
