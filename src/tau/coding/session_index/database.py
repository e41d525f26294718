"""Opens small SQLite databases in the user's folder: private, shared by processes, replaced if damaged."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from tau.base.files import locked, make_private

Create: TypeAlias = Callable[[sqlite3.Connection], None]

_BUSY_S = 10.0
_CACHE_KIB = 32 * 1024
_SIDE_FILES = ("-wal", "-shm", "-journal")
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# A table or column is missing although the version is right: another program changed the database.
_UNUSABLE = {*_DAMAGE, sqlite3.SQLITE_ERROR}


class Schema(Struct, frozen=True):
    """`create` makes the tables. A `disposable` database of another version is deleted."""

    version: int
    create: Create
    disposable: bool = False


class OpenedDatabase(Struct, frozen=True):
    """`remark` is a sentence for the user if the old content is gone."""

    connection: sqlite3.Connection
    inode: int
    remark: str | None = None


def open_database(path: Path, schema: Schema, *, busy_s: float = _BUSY_S) -> OpenedDatabase:
    """Open the database at `path`, or create it. Raises OSError and sqlite3.Error."""
    make_private(path.parent)
    inode = _create_file(path)
    try:
        connection, version = _connect(path, schema, busy_s)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return replace_database(path, schema, inode, busy_s=busy_s)
    if version == schema.version:
        return OpenedDatabase(connection, inode)
    connection.close()
    return replace_database(path, schema, inode, version=version, busy_s=busy_s)


def replace_database(
    path: Path, schema: Schema, inode: int, *, version: int | None = None, busy_s: float = _BUSY_S
) -> OpenedDatabase:
    """Move the database with this inode aside and create a new one; `version` is None if it is damaged.

    If another process has already done so, open its new one.
    """
    remark = None
    with locked(path):
        if _inode(path) == inode:
            suffix = "" if version is None else f".v{version}"
            backup = path.with_name(f"{path.name}{suffix or '.damaged'}")
            delete = version is not None and schema.disposable
            _move(path, None if delete else backup)
            what = "was damaged" if version is None else "was written by another version of tau"
            where = "" if delete else f"; the old one was kept as {backup.name}"
            remark = f"{path} {what}; created a new one{where}."
        inode = _create_file(path)
        return OpenedDatabase(_connect(path, schema, busy_s)[0], inode, remark)


def in_memory(schema: Schema) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    schema.create(connection)
    return connection


def is_damage(error: BaseException, *, strange: bool = False) -> bool:
    """Whether the database itself is damaged; with `strange`, also if tables or columns are missing."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (_UNUSABLE if strange else _DAMAGE)


def has_fts5(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.fts5_probe USING fts5(text)")
        connection.execute("DROP TABLE temp.fts5_probe")
    except sqlite3.OperationalError:
        return False
    return True


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that other writers wait for."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _connect(path: Path, schema: Schema, busy_s: float) -> tuple[sqlite3.Connection, int]:
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA secure_delete = ON")  # overwrite what the user deletes
        version = _version(connection)
        if version == 0 and not _has_tables(connection):
            with writing(connection):
                if not _has_tables(connection):  # no other process created it meanwhile
                    schema.create(connection)
                    connection.execute(f"PRAGMA user_version = {schema.version}")
            version = _version(connection)
    except BaseException:
        connection.close()
        raise
    return connection, version


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _create_file(path: Path) -> int:
    """Create the file if it is missing, since SQLite would let others read it; returns its inode."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        return os.fstat(fd).st_ino
    finally:
        os.close(fd)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _move(path: Path, backup: Path | None) -> None:
    """Move the database with its log, which a new database must not find."""
    for ending in _SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).unlink()
    with suppress(FileNotFoundError):
        if backup is None:
            path.unlink()
        else:
            path.replace(backup)
