"""A prompt history in memory; it implements `tau.tui.widgets.editor.history.History`."""

from collections.abc import Sequence

from tau.tui.widgets.editor.history import HistoryEntry


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
