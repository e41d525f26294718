"""The user's prompts from all sessions, in their own database, for recall and search."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from tau.ai.normalization import clean
from tau.base import log
from tau.base.clock import now_ms
from tau.base.sizes import KIB
from tau.coding.session_index.database import (
    OpenedDatabase,
    Schema,
    has_fts5,
    is_damage,
    open_database,
    replace_database,
    writing,
)
from tau.coding.session_index.search import escape_like, fts_query, is_plain

FILE_NAME = "history.db"
VERSION = 1
MAX_PROMPTS = 10_000
MAX_PROMPT_BYTES = 32 * KIB  # a longer one was pasted; its session has it
_BUSY_S = 1.0  # a prompt waits for it
_SLACK = 100  # prompts above the limit before the oldest are deleted

T = TypeVar("T")


class PastPrompt(Struct, frozen=True):
    text: str
    cwd: str
    time_ms: int


def _create(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE prompts(no INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, cwd TEXT NOT NULL, "
        "time_ms INTEGER NOT NULL)"
    )
    db.execute("CREATE INDEX prompts_cwd ON prompts(cwd, no)")
    if has_fts5(db):
        # Triggers keep the two in sync. A Python without FTS5 then cannot write and logs a warning.
        db.execute(
            "CREATE VIRTUAL TABLE prompts_fts USING fts5(text, content = 'prompts', content_rowid = 'no', "
            "columnsize = 0, tokenize = 'unicode61 remove_diacritics 2')"
        )
        db.execute(
            "CREATE TRIGGER prompts_added AFTER INSERT ON prompts BEGIN "
            "INSERT INTO prompts_fts(rowid, text) VALUES (new.no, new.text); END"
        )
        db.execute(
            "CREATE TRIGGER prompts_gone AFTER DELETE ON prompts BEGIN "
            "INSERT INTO prompts_fts(prompts_fts, rowid, text) VALUES ('delete', old.no, old.text); END"
        )


_SCHEMA = Schema(VERSION, _create)


class PromptHistory:
    """Never raises: a prompt that cannot be saved is only logged.

    Opened on first use. Keeps the newest `MAX_PROMPTS`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: OpenedDatabase | None = None
        self._fts = False
        self._failing = False

    def add(self, prompt: str, cwd: Path | str) -> None:
        """Save a prompt, unless it repeats the one before."""
        text = clean(prompt).replace("\0", "\N{REPLACEMENT CHARACTER}").strip()
        if text and len(text.encode()) <= MAX_PROMPT_BYTES:
            self._query(lambda db: _add(db, text, clean(str(cwd))), None)

    def recent(self, limit: int = 100, cwd: Path | str | None = None) -> list[PastPrompt]:
        """The newest prompts first, each text once, of all folders or of one."""
        where, values = ("", ()) if cwd is None else (" WHERE cwd = ?", (clean(str(cwd)),))
        return self._query(lambda db: _newest(db, where, values, limit), [])

    def search(self, query: str, limit: int = 100) -> list[PastPrompt]:
        """Prompts that contain all words of the query, newest first, each text once."""
        words = query.split()
        return self._query(lambda db: _newest(db, *_condition(words, fts=self._fts), limit), [])

    def redact(self, mask: Callable[[str], str], *, dry_run: bool = False) -> int:
        """Replace the text of prompts that the mask changes; returns how many."""
        return self._query(lambda db: _redact(db, mask, dry_run=dry_run), 0)

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.connection.close()

    def _query(self, run: Callable[[sqlite3.Connection], T], default: T) -> T:
        try:
            return run(self._connected())
        except (sqlite3.Error, OSError) as error:
            failure: Exception = error
        if is_damage(failure) and self._opened is not None:
            inode = self._opened.inode
            self.close()
            try:
                self._use(replace_database(self._path, _SCHEMA, inode, busy_s=_BUSY_S))
                return run(self._connected())
            except (sqlite3.Error, OSError) as error:
                failure = error
        if not self._failing:  # log it once: every prompt gets here
            self._failing = True
            log.warning(f"The prompt history {self._path} cannot be used.", failure)
        return default

    def _connected(self) -> sqlite3.Connection:
        if self._opened is None:
            self._use(open_database(self._path, _SCHEMA, busy_s=_BUSY_S))
        assert self._opened is not None
        return self._opened.connection

    def _use(self, opened: OpenedDatabase) -> None:
        self._opened = opened
        if opened.remark is not None:
            log.warning(opened.remark)
        table = opened.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'prompts_fts'")
        self._fts = table.fetchone() is not None and has_fts5(opened.connection)


def _add(db: sqlite3.Connection, text: str, cwd: str) -> None:
    with writing(db):
        last = db.execute("SELECT text, cwd FROM prompts ORDER BY no DESC LIMIT 1").fetchone()
        if last == (text, cwd):
            return
        no = db.execute(
            "INSERT INTO prompts(text, cwd, time_ms) VALUES (?, ?, ?)", (text, cwd, now_ms())
        ).lastrowid
        if no is not None and no % _SLACK == 0:
            db.execute(
                "DELETE FROM prompts WHERE no <= (SELECT no FROM prompts ORDER BY no DESC LIMIT 1 OFFSET ?)",
                (MAX_PROMPTS,),
            )


def _redact(db: sqlite3.Connection, mask: Callable[[str], str], *, dry_run: bool) -> int:
    rows = db.execute("SELECT no, text, cwd, time_ms FROM prompts").fetchall()
    masked = [(no, mask(text), cwd, time_ms) for no, text, cwd, time_ms in rows if mask(text) != text]
    if masked and not dry_run:
        with writing(db):
            for row in masked:  # deleted and added: the triggers follow
                db.execute("DELETE FROM prompts WHERE no = ?", row[:1])
                db.execute("INSERT INTO prompts(no, text, cwd, time_ms) VALUES (?, ?, ?, ?)", row)
        db.execute("VACUUM")  # deleted rows stay readable in the file
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(masked)


def _newest(db: sqlite3.Connection, where: str, values: tuple[str, ...], limit: int) -> list[PastPrompt]:
    sql = f"SELECT text, cwd, time_ms FROM prompts{where} ORDER BY no DESC"
    found: dict[str, PastPrompt] = {}
    for row in db.execute(sql, values):
        if len(found) >= limit:
            break
        found.setdefault(row[0], PastPrompt(*row))
    return list(found.values())


def _condition(words: list[str], *, fts: bool) -> tuple[str, tuple[str, ...]]:
    """One condition per word; words are split as in the session search."""
    parts: list[str] = []
    values: list[str] = []
    for word in words:
        query = fts_query(word) if fts else None
        if query is not None:
            parts.append("no IN (SELECT rowid FROM prompts_fts WHERE prompts_fts MATCH ?)")
            values.append(query)
        if query is None or not is_plain(word):
            parts.append(r"text LIKE ? ESCAPE '\'")
            values.append(f"%{escape_like(word)}%")
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), tuple(values)
