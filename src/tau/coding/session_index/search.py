"""Finds sessions by words in them, and previews them without opening their files."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from os import fsencode
from pathlib import Path
from re import findall
from typing import NamedTuple
from unicodedata import category, normalize

from msgspec import Struct

from tau.coding.session.storage.log import pause_gc
from tau.coding.session_index.index import SessionIndex, SessionRow, row_of
from tau.coding.session_index.tables import TEXT_BITS

SNIPPET_CHARS = 160
MAX_WORDS = 20
PROMPTS_SHOWN = 3
PREVIEW_CHARS = 1_500
_BEFORE_CHARS = 40  # of a snippet, before the match
_FIRST_UNSPACED = 0x0E00  # from Thai on, there are scripts without spaces between words


class SessionHit(Struct, frozen=True):
    """A session that contains all words. `snippet` is from a text of `role`: user, assistant or name."""

    session: SessionRow
    role: str
    snippet: str


class SessionHits(Struct, frozen=True):
    """The newest matching sessions, and the total number of matches."""

    hits: list[SessionHit]
    total: int


class SessionPreview(NamedTuple):
    """The first prompts of a session and its last answer."""

    prompts: Sequence[str]
    more: int
    """The number of prompts not included."""
    answer: str


def search(
    index: SessionIndex, words: Sequence[str], *, folder: Path | None = None, limit: int | None = None
) -> SessionHits:
    """Find sessions that contain each of `words` in a prompt, an answer or the name.

    Words match by prefix, ignoring case and accents. A word with a space or a symbol matches literally.
    """
    wanted = [clean for word in words if (clean := " ".join(word.split()))][:MAX_WORDS]
    if not wanted:
        return SessionHits([], 0)
    where = None if folder is None else fsencode(folder.absolute())

    def query(db: sqlite3.Connection) -> SessionHits:
        with pause_gc():
            paths, rows = index.current(db, where)
            places = [_sessions_with(db, word, fts=index.fts) for word in wanted]
        found = [row for row in rows if all(row[8] in place for place in places)]
        found.sort(key=lambda row: (row[1], row[6]), reverse=True)
        hits = []
        for row in found[:limit]:
            numbers = sorted({number for place in places for number in place[row[8]]})
            hits.append(SessionHit(row_of(paths, row), *_best_snippet(db, numbers, wanted)))
        return SessionHits(hits, len(found))

    return index.query(query)


def preview_session(index: SessionIndex, file: bytes) -> SessionPreview:
    """Preview the session in this file; empty if it is not in the index."""

    def query(db: sqlite3.Connection) -> SessionPreview:
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

    return index.query(query)


def _sessions_with(db: sqlite3.Connection, word: str, *, fts: bool) -> dict[int, tuple[int, int]]:
    """The sessions that contain a word, each with the first and last text that has it."""
    query = fts_query(word) if fts else None
    like = f"%{escape_like(word)}%"
    group = f"min(no), max(no) FROM texts{{}} WHERE {{}} GROUP BY no >> {TEXT_BITS}"
    values: tuple[str, ...]
    if query is None:
        sql, values = group.format("", r"text LIKE ? ESCAPE '\'"), (like,)
    elif is_plain(word):
        sql = f"min(rowid), max(rowid) FROM texts_fts WHERE texts_fts MATCH ? GROUP BY rowid >> {TEXT_BITS}"
        values = (query,)
    else:
        joined = " JOIN texts_fts ON texts_fts.rowid = texts.no"
        sql = group.format(joined, r"texts_fts MATCH ? AND texts.text LIKE ? ESCAPE '\'")
        values = (query, like)
    return {first >> TEXT_BITS: (first, last) for first, last in db.execute(f"SELECT {sql}", values)}


def fts_query(text: str) -> str | None:
    """The FTS5 query for a word; None if FTS5 cannot find it: no letters, or no spaces between words."""
    tokens = findall(r"[^\W_]+", text)
    if not tokens or any(ord(c) >= _FIRST_UNSPACED and category(c) == "Lo" for c in text):
        return None
    # The last word may be incomplete, as the user may still be typing it.
    return " AND ".join(f'"{token}"' for token in tokens) + " *"


def is_plain(word: str) -> bool:
    """Whether it is a single word, which FTS5 alone can find."""
    return findall(r"[^\W_]+", word) == [word]


def escape_like(text: str) -> str:
    """Escape a text for LIKE, with backslashes."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _best_snippet(db: sqlite3.Connection, numbers: Iterable[int], words: Sequence[str]) -> tuple[str, str]:
    """The role, and the snippet with the most matching words."""
    best = (-1, "", "")
    for number in numbers:
        role, text = db.execute("SELECT role, text FROM texts WHERE no = ?", (number,)).fetchone()
        folded = fold_text(text)
        count = sum(fold_text(word) in folded for word in words)
        if count > best[0]:
            best = (count, role, text)
    return best[1], snippet(best[2], words)


def snippet(text: str, words: Sequence[str], max_chars: int = SNIPPET_CHARS) -> str:
    """The part of a text around the first match, cut between words."""
    if len(text) <= max_chars:
        return text
    folded = fold_text(text)
    found = [at for word in words if (at := folded.find(fold_text(word))) >= 0]
    start = max(0, min(found, default=0) - _BEFORE_CHARS)
    start = max(0, min(start, len(text) - max_chars))
    if start:
        start = text.find(" ", start, start + _BEFORE_CHARS) + 1 or start
    end = start + max_chars
    if end < len(text):
        end = text.rfind(" ", end - _BEFORE_CHARS, end) if " " in text[end - _BEFORE_CHARS : end] else end
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def fold_text(text: str) -> str:
    """Lower-case a text and remove accents letter by letter, so that offsets stay valid."""
    return text.lower() if text.isascii() else "".join(map(_letter, text))


@cache
def _letter(letter: str) -> str:
    return (normalize("NFKD", letter)[:1] or letter).lower()[:1] or letter
