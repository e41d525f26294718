"""A text being written as plain data (lists, numbers, texts), to keep it over a crash and bring it back."""

from collections.abc import Mapping
from typing import TypeAlias

from tau.tui.widgets.editor.document import EditorDocument
from tau.tui.widgets.editor.intake import incoming
from tau.tui.widgets.editor.kill_ring import KillRing
from tau.tui.widgets.editor.pastes import Pastes

DraftPart: TypeAlias = "str | dict[str, str | int]"
EditorDraft: TypeAlias = "dict[str, list[DraftPart] | int]"
"""`{"parts": ["look at ", {"paste": 1, "label": "...", "text": "..."}], "cursor": 9}`; a paste counts one.

`below` has the parts of a second text, if there is one: the draft of somebody who changes an old text first.
"""


def saved(document: EditorDocument, pastes: Pastes) -> EditorDraft:
    """The text with its pastes, and the cursor."""
    return {"parts": _parts(document, pastes), "cursor": document.buffer.offset(document.cursor)}


def saved_over(document: EditorDocument, below: EditorDocument, pastes: Pastes) -> EditorDraft:
    """The same, with another text that comes back later."""
    return {**saved(document, pastes), "below": _parts(below, pastes)}


def _parts(document: EditorDocument, pastes: Pastes) -> list[DraftPart]:
    return [
        part if isinstance(part, str) else {"paste": part.number, "label": part.label, "text": part.text}
        for part in pastes.parts(document.buffer.text)
    ]


def restored(draft: Mapping[str, object], pastes: Pastes, kills: KillRing) -> EditorDocument | None:
    """The document again; None if the data is not a draft."""
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
        return incoming(part)
    if not isinstance(part, Mapping):
        return None
    number, label, text = part.get("paste"), part.get("label"), part.get("text")
    if not isinstance(number, int) or not isinstance(label, str) or not isinstance(text, str):
        return None
    text = incoming(text)
    return pastes.add(text, label, number) or text
