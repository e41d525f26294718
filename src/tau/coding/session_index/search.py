"""Finds sessions by words that were said in them."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from os import fsencode
from pathlib import Path
from re import findall
from unicodedata import category, normalize

from msgspec import Struct

from tau.coding.session_index.index import SessionIndex, SessionRow, collecting_nothing, row_of
from tau.coding.session_index.tables import TEXT_BITS

SNIPPET_CHARS = 160
MAX_WORDS = 20
_BEFORE_CHARS = 40  # of a snippet, in front of what was found
_FIRST_UNSPACED = 0x0E00  # from Thai on, there are scripts that put no blanks between words


class SessionHit(Struct, frozen=True):
    """A session in which all words occur. `snippet` is a part of what `role` said: user, assistant, name."""

    session: SessionRow
    role: str
    snippet: str


class SessionHits(Struct, frozen=True):
    """The newest sessions that were found, and how many there are in all."""

    hits: list[SessionHit]
    total: int


def search(
    index: SessionIndex, words: Sequence[str], *, folder: Path | None = None, limit: int | None = None
) -> SessionHits:
    """Sessions in which each of `words` occurs somewhere: in a prompt, an answer or the name.

    A word is found by its beginning, in upper or lower case, with accents or without. What holds a blank or
    a symbol is found as it is written.
    """
    wanted = [clean for word in words if (clean := " ".join(word.split()))][:MAX_WORDS]
    if not wanted:
        return SessionHits([], 0)
    where = None if folder is None else fsencode(folder.absolute())

    def ask(db: sqlite3.Connection) -> SessionHits:
        with collecting_nothing():
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
    """In which sessions a word occurs, each with its first and its last text that has it."""
    query = fts_query(word) if fts else None
    like = f"%{escaped(word)}%"
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
    """What to ask FTS5 for a word; None if it cannot know: there is no letter, or no blank between words."""
    tokens = findall(r"[^\W_]+", text)
    if not tokens or any(ord(c) >= _FIRST_UNSPACED and category(c) == "Lo" for c in text):
        return None
    # The last one may go on, as the user may still be typing it.
    return " AND ".join(f'"{token}"' for token in tokens) + " *"


def is_plain(word: str) -> bool:
    """Whether it is one word, so that FTS5 alone can find it."""
    return findall(r"[^\W_]+", word) == [word]


def escaped(text: str) -> str:
    """For LIKE, with a backslash to escape."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _best(db: sqlite3.Connection, numbers: Iterable[int], words: Sequence[str]) -> tuple[str, str]:
    """Who said it, and the part of a text that has most of the words."""
    best = (-1, "", "")
    for number in numbers:
        role, text = db.execute("SELECT role, text FROM texts WHERE no = ?", (number,)).fetchone()
        has = folded(text)
        count = sum(folded(word) in has for word in words)
        if count > best[0]:
            best = (count, role, text)
    return best[1], snippet(best[2], words)


def snippet(text: str, words: Sequence[str], max_chars: int = SNIPPET_CHARS) -> str:
    """The part of a text around the first of the words, cut between words."""
    if len(text) <= max_chars:
        return text
    has = folded(text)
    found = [at for word in words if (at := has.find(folded(word))) >= 0]
    start = max(0, min(found, default=0) - _BEFORE_CHARS)
    start = max(0, min(start, len(text) - max_chars))
    if start:
        start = text.find(" ", start, start + _BEFORE_CHARS) + 1 or start
    end = start + max_chars
    if end < len(text):
        end = text.rfind(" ", end - _BEFORE_CHARS, end) if " " in text[end - _BEFORE_CHARS : end] else end
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def folded(text: str) -> str:
    """In lower case and without accents, letter for letter, so that places stay where they are."""
    return text.lower() if text.isascii() else "".join(map(_letter, text))


@cache
def _letter(letter: str) -> str:
    return (normalize("NFKD", letter)[:1] or letter).lower()[:1] or letter
