"""Expands paste markers and folds them again."""

from tau.tui.widgets.editor.buffer import Position, advance_position
from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.pastes import Pastes, is_marker


def toggle(document: EditorDocument, pastes: Pastes) -> bool:
    """Unfold the marker at the cursor, or fold the pasted text around it if it is unchanged."""
    return _unfolded(document, pastes) or _folded(document, pastes)


def refold(text: str, before: str, pastes: Pastes) -> str:
    """Restore the markers of the previous text wherever their contents appear."""
    pieces: list[str] = []
    start = 0
    for marker in before if pastes else ():
        content = pastes[marker].text if is_marker(marker) else ""
        found = text.find(content, start) if content else -1
        if found >= 0:
            pieces += (text[start:found], marker)
            start = found + len(content)
    return "".join((*pieces, text[start:]))


def _unfolded(document: EditorDocument, pastes: Pastes) -> bool:
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


def _folded(document: EditorDocument, pastes: Pastes) -> bool:
    raw = document.buffer.text
    cursor = document.buffer.offset(document.cursor)
    for marker in reversed(pastes.opened):
        text = pastes[marker].text
        found = raw.find(text, max(cursor - len(text), 0), cursor + len(text))
        if 0 <= found <= cursor:
            start = document.buffer.position(found)
            return document.replace(start, advance_position(start, text), marker)
    return False
