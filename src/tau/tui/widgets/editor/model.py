"""The editor's state, without rows and keys: text, kills, pastes, history, and drafts as plain data."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tau.tui.widgets.editor.document import EditorDocument, KillRing, Position, advance_position
from tau.tui.widgets.editor.history import History, HistoryCursor
from tau.tui.widgets.editor.input_sanitizer import clean_input
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.pastes import Pastes, is_large, is_marker

DraftPart: TypeAlias = "str | dict[str, str | int]"
EditorDraft: TypeAlias = "dict[str, list[DraftPart] | int]"
"""`{"parts": ["look at ", {"paste": 1, "label": "...", "text": "..."}], "cursor": 9}`; a paste counts as one.

`below` has the parts of a second text, if any: the draft set aside while editing an older prompt.
"""


def refold(text: str, before: str, pastes: Pastes) -> str:
    """Restore the markers of the previous text wherever their contents appear."""
    pieces: list[str] = []
    start = 0
    for marker in before if pastes else ():
        content = pastes[marker].text if is_marker(marker) else ""
        at = text.find(content, start) if content else -1
        if at >= 0:
            pieces += (text[start:at], marker)
            start = at + len(content)
    return "".join((*pieces, text[start:]))


def _unfold(document: EditorDocument, pastes: Pastes) -> bool:
    line, (number, column) = document.line, document.cursor
    for start in (column, column - 1):
        if 0 <= start < len(line) and is_marker(line[start]):
            marker, place = line[start], Position(number, start)
            pastes.opened.pop(marker, None)
            pastes.opened[marker] = None
            offset = document.buffer.offset(place)
            document.replace(place, Position(number, start + 1), pastes[marker].text)
            document.place(offset)
            return True
    return False


def _fold(document: EditorDocument, pastes: Pastes) -> bool:
    raw = document.buffer.text
    cursor = document.buffer.offset(document.cursor)
    for marker in reversed(pastes.opened):
        text = pastes[marker].text
        at = raw.find(text, max(cursor - len(text), 0), cursor + len(text))
        if 0 <= at <= cursor:
            start = document.buffer.position(at)
            return document.replace(start, advance_position(start, text), marker)
    return False


def save_draft(document: EditorDocument, pastes: Pastes) -> EditorDraft:
    """Save the text with its pastes and the cursor."""
    return {"parts": _parts(document, pastes), "cursor": document.buffer.offset(document.cursor)}


def _parts(document: EditorDocument, pastes: Pastes) -> list[DraftPart]:
    return [
        part if isinstance(part, str) else {"paste": part.number, "label": part.label, "text": part.text}
        for part in pastes.parts(document.buffer.text)
    ]


def restore_draft(draft: Mapping[str, object], pastes: Pastes, kills: KillRing) -> EditorDocument | None:
    """Restore the document; None if the data is not a draft."""
    parts, cursor = draft.get("parts"), draft.get("cursor")
    if not isinstance(parts, list):
        return None
    raw = []
    for part in parts:
        text = _restored_part(part, pastes)
        if text is None:
            return None
        raw.append(text)
    document = EditorDocument("".join(raw), kills=kills)
    if isinstance(cursor, int):
        document.place(cursor)
    return document


def _restored_part(part: object, pastes: Pastes) -> str | None:
    if isinstance(part, str):
        return clean_input(part)
    if not isinstance(part, Mapping):
        return None
    number, label, text = part.get("paste"), part.get("label"), part.get("text")
    if not isinstance(number, int) or not isinstance(label, str) or not isinstance(text, str):
        return None
    text = clean_input(text)
    return pastes.add(text, label, number) or text


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
            self._text = self.pastes.expand(self.document.buffer.text)
            self._expanded = key
        return self._text

    def set_text(self, text: str) -> None:
        """Replace the text and move the cursor to its end; one undo restores the old text.

        Folded pastes of the old text stay folded where they appear in the new one, in order.
        """
        self.document.set_text(refold(clean_input(text), self.document.buffer.text, self.pastes))

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
        """Unfold the marker at the cursor, or fold the pasted text around it if it is unchanged."""
        return _unfold(self.document, self.pastes) or _fold(self.document, self.pastes)

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

    def draft(self) -> EditorDraft:
        """Return the draft as plain data, ignoring an unedited history entry."""
        document, kept = self.document, self.recall.draft
        if kept is None:
            return save_draft(document, self.pastes)
        if document.is_empty or not document.buffer.version:
            return save_draft(kept, self.pastes)
        saved = save_draft(document, self.pastes)
        return saved if kept.is_empty else {**saved, "below": _parts(kept, self.pastes)}

    def restore(self, data: Mapping[str, object]) -> bool:
        """Restore a draft; False, without changes, if the data is not one."""
        document = restore_draft(data, self.pastes, self.kills)
        if document is None:
            return False
        if not self.document.buffer.version:  # the entry was not edited: stop navigating
            self.recall = HistoryCursor(self.recall.history, self.kills)
        self.document = document
        return True

    def begin_submit(self) -> None:
        """Start over, with the draft set aside during navigation, or empty."""
        draft = self.recall.draft
        self._sending = (self.document, self.recall)
        self.recall = HistoryCursor(self.recall.history, self.kills)
        self.document = EditorDocument(kills=self.kills) if draft is None else draft
        self._begun = (self.document, self.document.buffer.version)

    def end_submit(self, *, refused: bool) -> None:
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
