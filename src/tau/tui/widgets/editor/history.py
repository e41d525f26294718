"""Prompt history: its source, and navigation that keeps the draft."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tau.tui.widgets.editor.document import EditorDocument, KillRing, Position
from tau.tui.widgets.editor.input_sanitizer import clean_input

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
