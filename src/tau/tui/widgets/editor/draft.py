"""Drafts as plain data, to survive a crash."""

from collections.abc import Mapping
from typing import TypeAlias

from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.intake import clean_input
from tau.tui.widgets.editor.kill_ring import KillRing
from tau.tui.widgets.editor.pastes import Pastes

DraftPart: TypeAlias = "str | dict[str, str | int]"
EditorDraft: TypeAlias = "dict[str, list[DraftPart] | int]"
"""`{"parts": ["look at ", {"paste": 1, "label": "...", "text": "..."}], "cursor": 9}`; a paste counts as one.

`below` has the parts of a second text, if any: the draft set aside while editing an older prompt.
"""


def save_draft(document: EditorDocument, pastes: Pastes) -> EditorDraft:
    """Save the text with its pastes and the cursor."""
    return {"parts": _parts(document, pastes), "cursor": document.buffer.offset(document.cursor)}


def save_draft_over(document: EditorDocument, below: EditorDocument, pastes: Pastes) -> EditorDraft:
    """Save the same, with the draft that was set aside."""
    return {**save_draft(document, pastes), "below": _parts(below, pastes)}


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
