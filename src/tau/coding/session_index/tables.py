"""The tables of the session index, and how sessions are added and removed."""

import os
import sqlite3
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import Struct

from tau.base.sizes import MIB
from tau.coding.session_index.database import Schema, writing
from tau.coding.session_index.records import ScanProgress, ScanResult, SessionSummary

VERSION = 1
TEXT_BITS = 20  # a text's number: its session's, then in the lower bits its own; 0 is the name
NAME_ROLE = "name"
_HASH_BYTES = 16 * MIB  # of words that FTS5 buffers before it writes them

FileKey: TypeAlias = tuple[bytes, bytes]  # folder and file
FileMark: TypeAlias = tuple[int, int, int, int, int]  # size, times, inode; 1 if they can be trusted

# `done`, `checksum` and `entry_ids` let the next scan resume where the last one stopped.
_TABLES = (
    "CREATE TABLE folders(no INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, root BLOB NOT NULL)",
    # The columns after `summary` repeat its content for queries; it is ten times as fast to read.
    """CREATE TABLE sessions(
        no INTEGER PRIMARY KEY, folder INTEGER NOT NULL, file BLOB NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL, settled INTEGER NOT NULL, done INTEGER NOT NULL, checksum INTEGER NOT NULL,
        summary BLOB NOT NULL,
        cwd TEXT NOT NULL, name TEXT NOT NULL, model TEXT NOT NULL, cost REAL NOT NULL,
        created_ms INTEGER NOT NULL, UNIQUE(folder, file))""",
    "CREATE TABLE entry_ids(session INTEGER, start INTEGER, ids BLOB, PRIMARY KEY(session, start)) "
    "WITHOUT ROWID",
    "CREATE TABLE texts(no INTEGER PRIMARY KEY, role TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER)",
)
_FTS = (
    "CREATE VIRTUAL TABLE texts_fts USING fts5(text, content = 'texts', content_rowid = 'no', "
    "columnsize = 0, detail = none, tokenize = 'unicode61 remove_diacritics 2')"
)
# The first five are the mark.
SELECT_ROWS = "SELECT size, mtime_ns, ctime_ns, inode, settled, folder, file, summary, no FROM sessions"

decode_summary = msgspec.msgpack.Decoder(SessionSummary).decode
_encode = msgspec.msgpack.Encoder().encode


class IndexedSession(Struct, frozen=True):
    """A session that is already in the index."""

    no: int
    mark: FileMark
    known: ScanProgress


def create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)


def drop(db: sqlite3.Connection) -> None:
    for table in ("texts_fts", "folders", "sessions", "entry_ids", "texts", "state"):
        db.execute(f"DROP TABLE IF EXISTS {table}")


SCHEMA = Schema(VERSION, create, disposable=True)


def prepare(db: sqlite3.Connection, fts: bool) -> bool:
    """Create or rebuild the full-text index if needed; returns whether there is one.

    A Python without FTS5 may share the database; what it writes makes a rebuild necessary.
    """
    has_table = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'texts_fts'").fetchone() is not None
    stale = db.execute("SELECT 1 FROM state WHERE key = 'stale_fts'").fetchone() is not None
    if not fts:
        if has_table and not stale:
            db.execute("INSERT OR REPLACE INTO state VALUES ('stale_fts', 1)")
        return False
    if not has_table or stale:
        with writing(db):
            if stale:
                db.execute("DROP TABLE IF EXISTS texts_fts")
            db.execute(_FTS.replace("TABLE", "TABLE IF NOT EXISTS", 1))
            db.execute("INSERT INTO texts_fts(texts_fts, rank) VALUES ('hashsize', ?)", (_HASH_BYTES,))
            db.execute("INSERT INTO texts_fts(texts_fts) VALUES ('rebuild')")
            db.execute("DELETE FROM state WHERE key = 'stale_fts'")
    return True


def find_indexed(db: sqlite3.Connection, key: FileKey) -> IndexedSession | None:
    row = db.execute(
        "SELECT sessions.no, size, mtime_ns, ctime_ns, inode, settled, done, checksum, summary "
        "FROM sessions JOIN folders ON folders.no = sessions.folder WHERE folders.path = ? AND file = ?",
        key,
    ).fetchone()
    if row is None:
        return None
    no, *_, inode, _settled, done, checksum, summary = row
    return IndexedSession(
        no,
        row[1:6],
        ScanProgress(decode_summary(summary), done, checksum, inode, partial(_entry_ids, db, no)),
    )


def _entry_ids(db: sqlite3.Connection, no: int) -> set[str]:
    rows = db.execute("SELECT ids FROM entry_ids WHERE session = ?", (no,))
    return {id for (ids,) in rows for id in msgspec.msgpack.decode(ids, type=list[str])}


_INSERT = f"INSERT OR REPLACE INTO sessions VALUES ({', '.join('?' * 16)})"


class IndexWriter(Struct):
    """Writes sessions in one transaction. Texts wait for `finish`: a batch takes a quarter of the time."""

    db: sqlite3.Connection
    root: bytes
    fts: bool
    _folders: dict[bytes, int] = {}
    _texts: list[tuple[int, str, str]] = []

    def put(self, key: FileKey, scanned: ScanResult, old: IndexedSession | None, *, settled: bool) -> None:
        """Replace the indexed session, or extend it if the file has only grown."""
        summary, signature = scanned.summary, scanned.signature
        grown = old is not None and scanned.grown
        if old is not None and not grown:
            self._remove_texts(old.no)
        values = (
            *(None if old is None else old.no, self._folder(key[0]), key[1]),
            *(signature.size, signature.mtime_ns, signature.ctime_ns, signature.inode, settled),
            *(scanned.done, scanned.checksum, _encode(summary)),
            *(summary.cwd, summary.shown_name, summary.model, summary.cost, summary.created_ms),
        )
        no = self.db.execute(_INSERT, values).lastrowid
        assert no is not None
        if scanned.ids:
            start = old.known.done if old is not None and grown else 0
            ids = msgspec.msgpack.encode(scanned.ids)
            self.db.execute("INSERT OR REPLACE INTO entry_ids VALUES (?, ?, ?)", (no, start, ids))
        if old is None or not grown or old.known.summary.shown_name != summary.shown_name:
            if grown:
                self._remove_texts(no, only_name=True)
            if summary.shown_name:
                self._texts.append((no << TEXT_BITS, NAME_ROLE, summary.shown_name))
        self._texts += [(no << TEXT_BITS | text.number, text.role, text.text) for text in scanned.texts]

    def remove(self, key: FileKey) -> None:
        row = self.db.execute(
            "SELECT sessions.no FROM sessions JOIN folders ON folders.no = sessions.folder "
            "WHERE folders.path = ? AND file = ?",
            key,
        ).fetchone()
        if row is not None:
            self._remove_texts(row[0])
            self.db.execute("DELETE FROM sessions WHERE no = ?", row)

    def tidy(self) -> None:
        """Remove folders without sessions, and missing folders of other roots."""
        rows = self.db.execute("SELECT root, no, path FROM folders WHERE root != ?", (self.root,))
        for root, no, path in rows.fetchall():
            if not os.path.isdir(root):  # noqa: PTH112 - it is bytes
                files = self.db.execute("SELECT file FROM sessions WHERE folder = ?", (no,))
                for (file,) in files.fetchall():
                    self.remove((path, file))
        self.db.execute("DELETE FROM folders WHERE no NOT IN (SELECT folder FROM sessions)")

    def finish(self) -> None:
        self._texts.sort()  # the full-text index is fastest with ascending numbers
        self.db.executemany("INSERT INTO texts VALUES (?, ?, ?)", self._texts)
        if self.fts:
            rows = ((no, text) for no, _, text in self._texts)
            self.db.executemany("INSERT INTO texts_fts(rowid, text) VALUES (?, ?)", rows)
        self._texts.clear()

    def _folder(self, path: bytes) -> int:
        if path not in self._folders:
            row = self.db.execute("SELECT no FROM folders WHERE path = ?", (path,)).fetchone()
            if row is None:
                values = (path, self.root)
                inserted = self.db.execute("INSERT INTO folders(path, root) VALUES (?, ?)", values)
                row = (inserted.lastrowid,)
            self._folders[path] = row[0]
        return self._folders[path]

    def _remove_texts(self, no: int, *, only_name: bool = False) -> None:
        first = no << TEXT_BITS
        span = (first, first if only_name else first | (1 << TEXT_BITS) - 1)
        if self.fts:
            rows = self.db.execute("SELECT no, text FROM texts WHERE no BETWEEN ? AND ?", span).fetchall()
            self.db.executemany("INSERT INTO texts_fts(texts_fts, rowid, text) VALUES ('delete', ?, ?)", rows)
        self.db.execute("DELETE FROM texts WHERE no BETWEEN ? AND ?", span)
        if not only_name:
            self.db.execute("DELETE FROM entry_ids WHERE session = ?", (no,))
