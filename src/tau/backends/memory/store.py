"""The local store of memories: one SQLite file with full-text search, shared by all processes of a user."""

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, ValidationError, convert

from tau.base import log, secrets
from tau.base.errors import TauError
from tau.base.files import locked, make_private

SCHEMA = 1
BUSY_S = 30.0
MAX_TEXT_CHARS = 50_000
MAX_QUERY_CHARS, MAX_QUERY_WORDS = 4_000, 48
MAX_TYPOS, MAX_TYPO_CHARS, GRAM = 12, 40, 3
CANDIDATES = 64
MIN_ROW_BYTES = 64
DEFAULT_LIMIT = 8
HALF_LIFE_DAYS = 180.0
SHARED = ""  # the scope of memories for all projects
_FIELDS = "id, text, context, scope, source, session, created, updated, used, importance, superseded, hidden"
_TABLES = f"""
CREATE TABLE items (
  row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, text TEXT NOT NULL, context TEXT NOT NULL,
  scope TEXT NOT NULL, source TEXT NOT NULL, session TEXT NOT NULL, created REAL NOT NULL,
  updated REAL NOT NULL, used INTEGER NOT NULL, importance REAL NOT NULL, superseded TEXT NOT NULL,
  hidden INTEGER NOT NULL);
CREATE INDEX items_text ON items (scope, text);
CREATE VIRTUAL TABLE words USING fts5 (body, tokenize='porter unicode61');
CREATE VIRTUAL TABLE grams USING fts5 (body, tokenize='trigram');
PRAGMA user_version = {SCHEMA};
"""
_STOP_WORDS = frozenset(
    {
        *("a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "did", "do"),
        *("does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "is", "it", "its", "me", "my"),
        *("no", "not", "of", "on", "or", "our", "should", "so", "that", "the", "their", "them", "there"),
        *("they", "this", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why"),
        *("will", "with", "would", "you", "your"),
    }
)
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

MemorySource = Literal["user", "assistant", "tool", "import"]


class MemoryStoreError(TauError):
    """The store cannot be read or written; nothing was acknowledged."""


class MemoryItem(Struct, frozen=True):
    """One memory. `scope` is the project's folder, or "" for all projects."""

    id: str
    text: str
    context: str = ""
    scope: str = SHARED
    source: str = "user"
    session: str = ""
    created: float = 0.0
    updated: float = 0.0
    used: int = 0
    importance: float = 0.5
    superseded: str = ""
    hidden: bool = False


class MemoryMatch(Struct, frozen=True):
    item: MemoryItem
    score: float


class MemoryStore:
    """Each call opens the file, so that calls may come from any thread. `notices` say what was repaired."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []

    def add(
        self,
        text: str,
        *,
        context: str = "",
        scope: str = SHARED,
        source: MemorySource = "user",
        session: str = "",
        importance: float = 0.5,
        created: float | None = None,
    ) -> str:
        """Its id; that of an equal memory if there is one. Secrets are masked. Raises MemoryStoreError."""
        text, context = clean_memory(text), clean_memory(context)
        if not text:
            raise MemoryStoreError("A memory needs a text.")
        if len(text) > MAX_TEXT_CHARS:
            raise MemoryStoreError(f"A memory has at most {MAX_TEXT_CHARS:,} characters, not {len(text):,}.")
        with self._open() as db:
            found = db.execute(
                "SELECT id FROM items WHERE scope = ? AND text = ? AND hidden = 0", (scope, text)
            ).fetchone()
            if found:
                return str(found[0])
            now = time.time() if created is None else created
            item = MemoryItem(
                os.urandom(6).hex(), text, context, scope, source, session, now, now, 0, _share(importance)
            )
            self._insert(db, item)
            return item.id

    def edit(self, id: str, *, text: str | None = None, importance: float | None = None) -> bool:
        """False if there is no such memory."""
        with self._open() as db:
            item = _one(db, id)
            if item is None:
                return False
            new = item.text if text is None else clean_memory(text)
            if not new or len(new) > MAX_TEXT_CHARS:
                raise MemoryStoreError(f"A memory has 1 to {MAX_TEXT_CHARS:,} characters.")
            share = item.importance if importance is None else _share(importance)
            db.execute(
                "UPDATE items SET text = ?, importance = ?, updated = ? WHERE id = ?",
                (new, share, time.time(), id),
            )
            self._index(db, id, f"{new}\n{item.context}")
            return True

    def forget(self, id: str) -> bool:
        with self._open() as db:
            row = db.execute("SELECT row FROM items WHERE id = ?", (id,)).fetchone()
            if row is None:
                return False
            for table, key in (("items", "row"), ("words", "rowid"), ("grams", "rowid")):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", row)
            return True

    def invalidate(self, id: str, replacement: str = "") -> bool:
        """Hide it from searches, but keep it."""
        with self._open() as db:
            return bool(
                db.execute(
                    "UPDATE items SET hidden = 1, superseded = ?, updated = ? WHERE id = ?",
                    (replacement, time.time(), id),
                ).rowcount
            )

    def get(self, id: str) -> MemoryItem | None:
        with self._open() as db:
            return _one(db, id)

    def items(
        self, scopes: Sequence[str] | None = None, *, limit: int = -1, hidden: bool = False
    ) -> list[MemoryItem]:
        """The latest first; of all scopes without `scopes`."""
        where, values = _where(scopes, hidden=hidden)
        with self._open() as db:
            rows = db.execute(
                f"SELECT {_FIELDS} FROM items WHERE {where} ORDER BY created DESC, row DESC LIMIT ?",
                (*values, limit),
            )
            return [_item(row) for row in rows]

    def clear(self, scopes: Sequence[str]) -> int:
        """Forget all of these scopes; returns how many."""
        gone = [item.id for item in self.items(scopes, hidden=True)]
        for id in gone:
            self.forget(id)
        return len(gone)

    def search(
        self, query: str, scopes: Sequence[str] | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[MemoryMatch]:
        """The best first. Any text is harmless as a query."""
        words = query_words(query)
        if not words:
            return []
        where, values = _where(scopes)
        found: dict[str, tuple[MemoryItem, float]] = {}
        with self._open() as db:
            unknown = [word for word in words if not _is_known(db, word)]
            known = [word for word in words if word not in unknown]
            for table, match in (("words", _any(known)), ("grams", _typos(unknown))):
                if not match:
                    continue
                rows = _ranked(db, table, match, (where, values), limit)
                top = max((row[-1] for row in rows), default=0.0) or 1.0
                share = (len(known) if table == "words" else len(unknown)) / len(words)
                for row in rows:
                    item = _item(row[:-1])
                    old = found.get(item.id, (item, 0.0))[1]
                    found[item.id] = (item, old + share * row[-1] / top)
        now = time.time()
        best = sorted(
            (MemoryMatch(item, score * _weight(item, now)) for item, score in found.values()),
            key=lambda one: (-one.score, one.item.id),
        )
        return best[:limit]

    def mark_used(self, ids: Sequence[str]) -> None:
        with self._open() as db:
            db.executemany("UPDATE items SET used = used + 1 WHERE id = ?", [(id,) for id in ids])

    def check(self) -> list[str]:
        """What is wrong with the file."""
        with self._open() as db:
            rows = [row[0] for row in db.execute("PRAGMA quick_check").fetchall()]
            count, words = (
                db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("items", "words")
            )
        problems = [text for text in rows if text != "ok"]
        return problems + ([f"{count} memories, but {words} are searchable."] if count != words else [])

    def rebuild(self) -> int:
        """Index all memories again; returns how many there are."""
        with self._open() as db:
            for table in ("words", "grams"):
                db.execute(f"DELETE FROM {table}")
            rows = db.execute("SELECT id, text, context FROM items").fetchall()
            for id, text, context in rows:
                self._index(db, id, f"{text}\n{context}")
            return len(rows)

    def _insert(self, db: sqlite3.Connection, item: MemoryItem) -> None:
        values = tuple(getattr(item, name) for name in _FIELDS.split(", "))
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO items ({_FIELDS}) VALUES ({marks})", values)
        self._index(db, item.id, f"{item.text}\n{item.context}")

    def _index(self, db: sqlite3.Connection, id: str, text: str) -> None:
        row = db.execute("SELECT row FROM items WHERE id = ?", (id,)).fetchone()[0]
        body = f"{text} {' '.join(split_words(text))}"
        for table in ("words", "grams"):
            db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            db.execute(f"INSERT INTO {table} (rowid, body) VALUES (?, ?)", (row, body))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction; it is on the disk when this ends. Raises MemoryStoreError."""
        try:
            with closing(self._connect()) as db:
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
        except (sqlite3.Error, OSError) as error:
            if _is_damage(error):
                self._move_aside(error)
                raise MemoryStoreError(f"{self.notices[-1]} Try again.") from error
            raise MemoryStoreError(f"The memories in {self.path} cannot be used: {error}.") from error

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._connect_once()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._move_aside(error)
            return self._connect_once()

    def _connect_once(self) -> sqlite3.Connection:
        make_private(self.path.parent)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous = FULL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA:
                raise MemoryStoreError(f"The memories in {self.path} are of a newer tau; update tau.")
            if version < SCHEMA:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("BEGIN IMMEDIATE")
                if db.execute("PRAGMA user_version").fetchone()[0] < SCHEMA:
                    for statement in _TABLES.split(";")[:-1]:
                        db.execute(statement)
                db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _is_sound(self) -> bool:
        try:
            with closing(self._connect_once()) as db:
                return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except sqlite3.DatabaseError:
            return False

    def _move_aside(self, error: Exception) -> None:
        """Keep a damaged file under another name, and take over the rows that can be read."""
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        saved = 0
        with locked(self.path):
            if self._is_sound():  # another process was faster
                self.notices.append(f"The memories in {self.path} were damaged and have been repaired.")
                return
            for suffix in ("-wal", "-shm", ""):
                side = self.path.with_name(self.path.name + suffix)
                if side.exists():
                    side.replace(aside.with_name(aside.name + suffix))
            with closing(self._connect_once()) as db, db:
                db.execute("BEGIN IMMEDIATE")
                for item in _readable(aside):
                    self._insert(db, item)
                    saved += 1
        text = f"The memories in {self.path} were damaged ({error}); {saved} were saved, the file is {aside}."
        self.notices.append(text)
        log.error(text)


def _is_damage(error: Exception) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and any(
        words in str(error) for words in ("malformed", "not a database", "vtable constructor failed")
    )


def _readable(path: Path) -> Iterator[MemoryItem]:
    try:
        with closing(sqlite3.connect(path)) as db:
            last = path.stat().st_size // MIN_ROW_BYTES  # the largest number may be what is damaged
            for row in range(1, last + 1):
                try:
                    found = db.execute(f"SELECT {_FIELDS} FROM items WHERE row = ?", (row,)).fetchone()
                    if found is not None:
                        yield _item(found)
                except (sqlite3.Error, TypeError, ValueError, ValidationError):
                    continue
    except sqlite3.Error:
        return


def split_words(text: str) -> list[str]:
    """The words of a text, identifiers split at case, `_`, `-` and `/`."""
    return [part for word in _WORD.findall(text) for part in _CASE.split(word)]


def query_words(query: str) -> list[str]:
    """The words to look for, without stop words unless there are no others."""
    words = [word.lower() for word in split_words(query[:MAX_QUERY_CHARS].replace("\0", " "))]
    telling = [word for word in words if word not in _STOP_WORDS] or words
    return list(dict.fromkeys(telling))[:MAX_QUERY_WORDS]


def _is_known(db: sqlite3.Connection, word: str) -> bool:
    if _CJK.search(word):
        return False
    return (
        db.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (f'"{word}"',)).fetchone() is not None
    )


def _ranked(
    db: sqlite3.Connection, table: str, match: str, scope: tuple[str, tuple[str, ...]], wanted: int
) -> list[tuple[Any, ...]]:
    """The best rows of a table. Few are looked up, unless most matches are out of scope."""
    inner = f"SELECT rowid AS place, -rank AS score FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"
    query = f"SELECT {_FIELDS}, score FROM ({inner}) JOIN items ON items.row = place WHERE {scope[0]}"
    for most in (CANDIDATES, CANDIDATES * 16, -1):
        values = (match, most, *scope[1])
        rows = db.execute(f"{query} ORDER BY score DESC LIMIT {CANDIDATES}", values).fetchall()
        if len(rows) >= wanted or most < 0 or not _has_more(db, table, match, most):
            return rows
    return []


def _has_more(db: sqlite3.Connection, table: str, match: str, most: int) -> bool:
    found = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1 OFFSET ?"
    return db.execute(found, (match, most)).fetchone() is not None


def _any(terms: Sequence[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _typos(words: Sequence[str]) -> str:
    """Texts that share letters with words that occur nowhere.

    A typo leaves the start, the end or, in a long word, the middle as it is. Asking for one of them first
    spares the ranking of all texts with some common three letters.
    """
    found: list[str] = []
    for word in words[:MAX_TYPOS]:
        grams = [word[at : at + GRAM] for at in range(min(len(word), MAX_TYPO_CHARS) - GRAM + 1)]
        if not grams:
            continue
        size = max(GRAM, len(word) // 3)
        kept = [word[:size], word[-size:], *([word[size : 2 * size]] if len(word) >= 3 * GRAM else [])]
        found.append(_any(grams) if _CJK.search(word) else f"({_any(kept)}) AND ({_any(grams)})")
    return " OR ".join(f"({one})" for one in found)


def _weight(item: MemoryItem, now: float) -> float:
    """Important, recent and used memories come first among similar ones."""
    age = max(0.0, now - item.updated) / 86_400
    freshness = 2.0 ** -(age / HALF_LIFE_DAYS)
    return float(1.0 + 0.2 * item.importance + 0.1 * freshness + 0.02 * min(item.used, 5))


def _where(scopes: Sequence[str] | None, *, hidden: bool = False) -> tuple[str, tuple[str, ...]]:
    marks = "1" if scopes is None else f"scope IN ({', '.join('?' * len(scopes))})"
    return marks if hidden else f"{marks} AND hidden = 0", tuple(scopes or ())


def _one(db: sqlite3.Connection, id: str) -> MemoryItem | None:
    row = db.execute(f"SELECT {_FIELDS} FROM items WHERE id = ?", (id,)).fetchone()
    return None if row is None else _item(row)


def _item(row: Sequence[object]) -> MemoryItem:
    return convert(dict(zip(_FIELDS.split(", "), [*row[:-1], bool(row[-1])], strict=True)), MemoryItem)


def clean_memory(text: str) -> str:
    return secrets.mask(text.replace("\0", "").encode("utf-8", "replace").decode().strip())


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
