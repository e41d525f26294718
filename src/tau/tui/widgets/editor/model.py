"""The editor's state, without rows and keys: the text, kills, pastes and history."""

from collections.abc import Iterator, Mapping

from tau.tui.widgets.editor import draft, folding
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.history import History, HistoryCursor
from tau.tui.widgets.editor.intake import clean_input
from tau.tui.widgets.editor.kill_ring import KillRing
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.pastes import Pastes, is_large


class EditorModel:
    """The current document, and others kept while navigating the history."""

    def __init__(self, history: History | None = None) -> None:
        self.kills = KillRing()
        self.pastes = Pastes(self._texts)
        self.recall = HistoryCursor(history, self.kills)
        self.document = EditorDocument(kills=self.kills)
        self._expanded: tuple[object, ...] = ()
        self._text = ""
        self._sending: tuple[EditorDocument, HistoryCursor] | None = None
        self._begun: tuple[EditorDocument, int] = (self.document, 0)

    @property
    def text(self) -> str:
        """The text with pastes in full; cached per change."""
        key = (self.document, self.document.buffer.version)
        if key != self._expanded:
            self._text = self.pastes.expanded(self.document.buffer.text)
            self._expanded = key
        return self._text

    def set_text(self, text: str) -> None:
        """Replace the text and move the cursor to its end; one undo restores the old text.

        Folded pastes of the old text stay folded where they appear in the new one, in order.
        """
        self.document.set_text(folding.refold(clean_input(text), self.document.buffer.text, self.pastes))

    def insert(self, text: str) -> bool:
        """Insert text at the cursor; one undo removes it."""
        return self.document.insert(clean_input(text))

    def paste(self, text: str, *, fold: bool = True) -> bool:
        """Insert pasted text at the cursor, as a marker if large."""
        text = clean_input(text)
        marker = self.pastes.add(text) if fold and is_large(text) else ""
        return self.document.insert(marker or text)

    def insert_marker(self, label: str, text: str) -> bool:
        """Insert a unit at the cursor, shown as `label` and submitted as `text`."""
        text = clean_input(text)
        return self.document.insert(self.pastes.add(text, label) or text)

    def toggle_paste(self) -> bool:
        """Expand or fold the paste at the cursor."""
        return folding.toggle(self.document, self.pastes)

    def older(self, layout: WrapLayout) -> bool:
        """Show the previous entry, with the cursor in its first row so that the next step continues."""
        document = self.recall.older(self.document)
        if document is None:
            return False
        if len(layout.rows(document.buffer.lines[0])) > 1:
            document.place(0)
        self.document = document
        return True

    def newer(self) -> bool:
        """Show the next entry, or the draft."""
        document = self.recall.newer(self.document)
        if document is None:
            return False
        self.document = document
        return True

    def draft(self) -> draft.EditorDraft:
        """Return the draft as plain data, ignoring an unedited history entry."""
        document, kept = self.document, self.recall.draft
        if kept is None:
            return draft.save_draft(document, self.pastes)
        if document.is_empty or not document.buffer.version:
            return draft.save_draft(kept, self.pastes)
        return (
            draft.save_draft(document, self.pastes)
            if kept.is_empty
            else draft.save_draft_over(document, kept, self.pastes)
        )

    def restore(self, data: Mapping[str, object]) -> bool:
        """Restore a draft; False, without changes, if the data is not one."""
        document = draft.restore_draft(data, self.pastes, self.kills)
        if document is None:
            return False
        if not self.document.buffer.version:  # the entry was not edited: stop navigating
            self.recall = HistoryCursor(self.recall.history, self.kills)
        self.document = document
        return True

    def send(self) -> None:
        """Start over, with the draft set aside during navigation, or empty."""
        draft = self.recall.draft
        self._sending = (self.document, self.recall)
        self.recall = HistoryCursor(self.recall.history, self.kills)
        self.document = EditorDocument(kills=self.kills) if draft is None else draft
        self._begun = (self.document, self.document.buffer.version)

    def sent(self, *, refused: bool) -> None:
        """Finish a submission; if refused, restore the text unless there is new text."""
        if (
            refused
            and self._sending is not None
            and self._begun == (self.document, self.document.buffer.version)
        ):
            self.document, self.recall = self._sending
        self._sending = None
        self.pastes.collect()

    def _texts(self) -> Iterator[str]:
        for document, recall in ((self.document, self.recall), *([self._sending] if self._sending else [])):
            yield from document.texts()
            yield from recall.texts()
        yield from self.kills
