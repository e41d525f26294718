"""All that an editor remembers, without rows and without keys: the text, what was cut, pasted and sent."""

from collections.abc import Iterator, Mapping

from tau.tui.widgets.editor import draft, folding
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.history import History, HistoryCursor
from tau.tui.widgets.editor.intake import incoming
from tau.tui.widgets.editor.kill_ring import KillRing
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.pastes import Pastes, is_large


class EditorModel:
    """The document that is shown, and those behind it while one walks through the history."""

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
        """The text with every paste in full; made once per change."""
        key = (self.document, self.document.buffer.version)
        if key != self._expanded:
            self._text = self.pastes.expanded(self.document.buffer.text)
            self._expanded = key
        return self._text

    def set_text(self, text: str) -> None:
        """Another text, with the cursor at its end; one undo brings the old one back.

        What is folded in the old one stays so, as far as it is in the new one, in the same order.
        """
        self.document.set_text(folding.refolded(incoming(text), self.document.buffer.text, self.pastes))

    def insert(self, text: str) -> bool:
        """Put text at the cursor; one undo takes it back."""
        return self.document.insert(incoming(text))

    def paste(self, text: str, *, fold: bool = True) -> bool:
        """Put pasted text at the cursor, as a marker if it is large."""
        text = incoming(text)
        marker = self.pastes.add(text) if fold and is_large(text) else ""
        return self.document.insert(marker or text)

    def insert_marker(self, label: str, text: str) -> bool:
        """Put something at the cursor that is shown as `label` and is sent as `text`."""
        text = incoming(text)
        return self.document.insert(self.pastes.add(text, label) or text)

    def toggle_paste(self) -> bool:
        """Show the paste at the cursor in full, or fold it again."""
        return folding.toggle(self.document, self.pastes)

    def older(self, layout: WrapLayout) -> bool:
        """Show the entry before; its first row has the cursor, so that the next step goes on."""
        document = self.recall.older(self.document)
        if document is None:
            return False
        if len(layout.rows(document.buffer.lines[0])) > 1:
            document.place(0)
        self.document = document
        return True

    def newer(self) -> bool:
        """Show the entry after, or the draft."""
        document = self.recall.newer(self.document)
        if document is None:
            return False
        self.document = document
        return True

    def draft(self) -> draft.EditorDraft:
        """What is being written, as plain data; an entry of the history that is only looked at is not it."""
        document, kept = self.document, self.recall.draft
        if kept is None:
            return draft.saved(document, self.pastes)
        if document.is_empty or not document.buffer.version:
            return draft.saved(kept, self.pastes)
        return (
            draft.saved(document, self.pastes)
            if kept.is_empty
            else draft.saved_over(document, kept, self.pastes)
        )

    def restore(self, data: Mapping[str, object]) -> bool:
        """Go on with a draft; False if the data is not one, and the text stays as it is."""
        document = draft.restored(data, self.pastes, self.kills)
        if document is None:
            return False
        if not self.document.buffer.version:  # the entry was only looked at: the walk is over
            self.recall = HistoryCursor(self.recall.history, self.kills)
        self.document = document
        return True

    def send(self) -> None:
        """Begin anew, with the draft that was kept during a walk through the history, or with nothing."""
        draft = self.recall.draft
        self._sending = (self.document, self.recall)
        self.recall = HistoryCursor(self.recall.history, self.kills)
        self.document = EditorDocument(kills=self.kills) if draft is None else draft
        self._begun = (self.document, self.document.buffer.version)

    def sent(self, *, refused: bool) -> None:
        """It was taken, or refused: then it comes back, unless there is something new by now."""
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
