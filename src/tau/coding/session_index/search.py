"""Finds sessions by words in them."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from os import fsencode
from pathlib import Path
from re import findall
from unicodedata import category, normalize

from msgspec import Struct

from tau.coding.session.storage.log import pause_gc
from tau.coding.session_index.index import SessionIndex, SessionRow, row_of
from tau.coding.session_index.tables import TEXT_BITS

SNIPPET_CHARS = 160
MAX_WORDS = 20
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

    def ask(db: sqlite3.Connection) -> SessionHits:
        with pause_gc():
            paths, rows = index.current(db, where)
            places = [_places(db, word, fts=index.fts) for word in wanted]
        found = [row for row in rows if all(row[8] in place for place in places)]
        found.sort(key=lambda row: (row[1], row[6]), reverse=True)
        hits = []
        for row in found[:limit]:
            numbers = sorted({number for place in places for number in place[row[8]]})
            hits.append(SessionHit(row_of(paths, row), *_best(db, numbers, wanted)))
        return SessionHits(hits, len(found))

    return index.ask(ask)


def _places(db: sqlite3.Connection, word: str, *, fts: bool) -> dict[int, tuple[int, int]]:
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


def _best(db: sqlite3.Connection, numbers: Iterable[int], words: Sequence[str]) -> tuple[str, str]:
    """The role, and the snippet with the most matching words."""
    best = (-1, "", "")
    for number in numbers:
        role, text = db.execute("SELECT role, text FROM texts WHERE no = ?", (number,)).fetchone()
        has = fold_text(text)
        count = sum(fold_text(word) in has for word in words)
        if count > best[0]:
            best = (count, role, text)
    return best[1], snippet(best[2], words)


def snippet(text: str, words: Sequence[str], max_chars: int = SNIPPET_CHARS) -> str:
    """The part of a text around the first match, cut between words."""
    if len(text) <= max_chars:
        return text
    has = fold_text(text)
    found = [at for word in words if (at := has.find(fold_text(word))) >= 0]
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
