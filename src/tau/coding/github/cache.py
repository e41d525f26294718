"""The cache of issues, pull requests and diffs that were read: one private SQLite file."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct, msgpack

from tau.backends.github.gh import credentials
from tau.backends.github.names import RepositoryName
from tau.base.files import typed_path
from tau.coding.session_index.database import Schema, open_database
from tau.config.paths import Paths
from tau.config.tool_settings import GithubSettings

T = TypeVar("T")

MAX_ROWS = 2_000
MAX_ROW_BYTES = 8 * 1024 * 1024
_TABLES = """CREATE TABLE threads (
  credential TEXT NOT NULL, host TEXT NOT NULL, repository TEXT NOT NULL, kind TEXT NOT NULL,
  number INTEGER NOT NULL, comments INTEGER NOT NULL, fetched REAL NOT NULL, used REAL NOT NULL,
  text TEXT NOT NULL, raw BLOB NOT NULL,
  PRIMARY KEY (credential, host, repository, kind, number, comments))"""


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(_TABLES)


SCHEMA = Schema(1, _create, disposable=True)
ThreadKind: TypeAlias = Literal["issue", "pr", "pr-diff"]


class ThreadKey(Struct, frozen=True):
    repository: RepositoryName
    kind: ThreadKind
    number: int
    comments: bool = True


class CachedThread(Struct, frozen=True):
    """`text` is what the model gets, `raw` what gh printed, `age_s` how long ago."""

    text: str
    raw: bytes
    age_s: float


class CacheStats(Struct, frozen=True, rename="camel"):
    path: str
    bytes: int
    rows: dict[str, int]
    oldest_s: float


def cache_file(paths: Paths, environ: Mapping[str, str] = os.environ) -> Path:
    named = environ.get("TAU_GITHUB_CACHE_DB", "").strip()
    return typed_path(named) if named else paths.cache / "github.db"


def credential_hash(environ: Mapping[str, str] = os.environ) -> str:
    """Whose view of GitHub a row is; "" if there is no login that we can see."""
    known = credentials(environ)
    return hashlib.sha256(msgpack.encode(known)).hexdigest()[:32] if any(known) else ""


class ThreadCache:
    """Works without the file if it cannot be used; `notices` says so, once. Any thread may call."""

    def __init__(self, path: Path, settings: GithubSettings, now: Callable[[], float] = time.time) -> None:
        self.path = path
        self.notices: list[str] = []
        self._settings = settings.cache
        self._now = now

    def get(self, key: ThreadKey) -> CachedThread | None:
        """None if it is not there or older than the hard limit."""
        row = self._try(None, lambda db, whose: _select(db, whose, key, self._now()))
        if row is None:
            return None
        text, raw, fetched = row
        age = max(0.0, self._now() - fetched)
        return CachedThread(text, raw, age) if age <= self._settings.hard_ttl_sec else None

    def put(self, key: ThreadKey, text: str, raw: bytes) -> None:
        if len(text) + len(raw) > MAX_ROW_BYTES:
            return
        now = self._now()

        def write(db: sqlite3.Connection, whose: str) -> None:
            values = (whose, *_columns(key), now, now, text, raw)
            db.execute("INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            db.execute("DELETE FROM threads WHERE fetched < ?", (now - self._settings.hard_ttl_sec,))
            db.execute(
                "DELETE FROM threads WHERE rowid IN"
                " (SELECT rowid FROM threads ORDER BY used DESC LIMIT -1 OFFSET ?)",
                (MAX_ROWS,),
            )

        self._try(None, write)

    def drop(self, repository: RepositoryName | None = None, number: int | None = None) -> None:
        """Forget what has changed: one number, all of a repository, or everything."""
        conditions: dict[str, object] = {}
        if repository is not None:
            conditions = {"host": repository.host, "repository": repository.slug.lower()}
        if number is not None:
            conditions["number"] = number
        where = " AND ".join(f"{name} = ?" for name in conditions) or "1"
        values = tuple(conditions.values())
        if self.path.exists():

            def delete(db: sqlite3.Connection, whose: str) -> None:
                db.execute(f"DELETE FROM threads WHERE {where}", values)

            self._try(None, delete, needs_login=False)

    def clear(self) -> int:
        """Forget everything, of every login; returns how many rows there were."""
        count = sum(self.stats().rows.values())
        self.drop()
        return count

    def stats(self) -> CacheStats:
        if not self.path.exists():
            return CacheStats(str(self.path), 0, {}, 0.0)
        select = "SELECT kind, count(*), min(fetched) FROM threads GROUP BY kind"
        none: list[tuple[str, int, float]] = []
        rows = self._try(none, lambda db, whose: db.execute(select).fetchall(), needs_login=False)
        oldest = min((row[2] for row in rows), default=self._now())
        size = self.path.stat().st_size
        return CacheStats(str(self.path), size, {row[0]: row[1] for row in rows}, self._now() - oldest)

    def _try(
        self, default: T, call: Callable[[sqlite3.Connection, str], T], *, needs_login: bool = True
    ) -> T:
        whose = credential_hash()
        if needs_login and (not whose or not self._settings.enabled):
            return default
        try:
            opened = open_database(self.path, SCHEMA)
            if opened.remark:
                self._warn(opened.remark)
            with closing(opened.connection) as db:
                return call(db, whose)
        except (OSError, sqlite3.Error) as error:
            self._warn(f"The cache {self.path} cannot be used: {error}. GitHub is asked each time.")
            return default

    def _warn(self, text: str) -> None:
        if not self.notices:
            self.notices.append(text)


_Row: TypeAlias = tuple[str, bytes, float]


def _select(db: sqlite3.Connection, whose: str, key: ThreadKey, now: float) -> _Row | None:
    where = "credential = ? AND host = ? AND repository = ? AND kind = ? AND number = ? AND comments = ?"
    values = (whose, *_columns(key))
    row: _Row | None = db.execute(f"SELECT text, raw, fetched FROM threads WHERE {where}", values).fetchone()
    if row is not None:
        db.execute(f"UPDATE threads SET used = ? WHERE {where}", (now, *values))
    return row


def _columns(key: ThreadKey) -> tuple[str, str, str, int, int]:
    repository = key.repository
    return repository.host, repository.slug.lower(), key.kind, key.number, int(key.comments)
