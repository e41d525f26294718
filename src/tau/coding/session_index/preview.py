"""A preview of a session from the index, without opening its file."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from tau.coding.session_index.index import SessionIndex
from tau.coding.session_index.tables import TEXT_BITS

PROMPTS_SHOWN = 3
PREVIEW_CHARS = 1_500


class SessionPreview(NamedTuple):
    """The first prompts of a session and its last answer."""

    prompts: Sequence[str]
    more: int
    """The number of prompts not included."""
    answer: str


def preview(index: SessionIndex, file: bytes) -> SessionPreview:
    """Preview the session in this file; empty if it is not in the index."""

    def ask(db: sqlite3.Connection) -> SessionPreview:
        folder, _, name = file.rpartition(b"/")
        number = db.execute(
            "SELECT sessions.no FROM sessions JOIN folders ON folders.no = sessions.folder "
            "WHERE folders.path = ? AND sessions.file = ?",
            (folder, name),
        ).fetchone()
        if number is None:
            return SessionPreview((), 0, "")
        first = number[0] << TEXT_BITS
        texts = "FROM texts WHERE no > ? AND no < ? AND role = ? ORDER BY no"
        bounds = (first, first + (1 << TEXT_BITS))
        prompts = db.execute(
            f"SELECT substr(text, 1, ?) {texts} LIMIT ?", (PREVIEW_CHARS, *bounds, "user", PROMPTS_SHOWN)
        ).fetchall()
        count = db.execute(f"SELECT count(*) {texts}", (*bounds, "user")).fetchone()[0]
        answer = db.execute(
            f"SELECT substr(text, 1, ?) {texts} DESC LIMIT 1", (PREVIEW_CHARS, *bounds, "assistant")
        ).fetchone()
        return SessionPreview(
            [text for (text,) in prompts], count - len(prompts), answer[0] if answer else ""
        )

    return index.ask(ask)
