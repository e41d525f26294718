"""Open untrusted databases: optionally read-only, bounded in time and size, with readable errors."""

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import MIB
from tau.base.text import clean_line
from tau.base.threads import StopSignal, ThreadStopped

urllib_parse = late("urllib.parse")

HEADER = b"SQLite format 3\0"
BUSY_SECONDS = 3.0
READ_SECONDS = 5.0
WRITE_SECONDS = 10.0
MAX_CELL_BYTES = 64 * MIB
_LIKE_BYTES = 1_000
_STEPS_BETWEEN_LOOKS = 2_000
_WAL_BYTES = slice(18, 20)  # header fields: both are 2 for a database with a write-ahead log
_TOLD_PRAGMAS = frozenset(
    (
        *("application_id", "auto_vacuum", "collation_list", "compile_options", "data_version"),
        *("database_list", "encoding", "foreign_key_check", "foreign_key_list", "freelist_count"),
        *("function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "journal_mode"),
        *("module_list", "page_count", "page_size", "pragma_list", "quick_check", "schema_version"),
        *("table_info", "table_list", "table_xinfo", "user_version"),
    )
)
_PRAGMAS_WITH_A_SUBJECT = frozenset(
    name for name in _TOLD_PRAGMAS if name.endswith(("info", "list", "check"))
)
_ALLOWED = frozenset(
    (
        *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE),
        # Extensions such as rtree prepare these even to read; a read-only database never runs them.
        *(sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE),
    )
)
_LOG_IGNORED = "[Read from disk without its log files: the latest changes may be missing]"
_FORBIDDEN_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"))


def has_header(path: Path) -> bool:
    """Whether a local regular file has the SQLite header."""
    return _header(path).startswith(HEADER)


class QueryDeadline:
    """A progress handler that ends statements that run too long or were cancelled."""

    def __init__(self, seconds: float, stop: StopSignal) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._stop = stop

    def passed(self) -> bool:
        return time.monotonic() > self._end

    def __call__(self) -> int:
        return int(self._stop.is_set or self.passed())


class SqliteConnection:
    """A connection with its time limit; `remark` is a notice to show with its rows."""

    def __init__(self, connection: sqlite3.Connection, deadline: QueryDeadline, remark: str) -> None:
        self.connection, self.deadline, self.remark = connection, deadline, remark


@contextmanager
def open_for_reading(
    path: Path, name: str, stop: StopSignal, seconds: float = READ_SECONDS
) -> Iterator[SqliteConnection]:
    """Open read-only. Creates no extra files for a database that no one else has open."""
    before = _state(path)
    quiet_log = _header(path)[_WAL_BYTES] == b"\2\2" and not _log_size(path)
    connection, remark = _reader(path, name, stop, alone=quiet_log)
    try:
        deadline = _restrict(connection, seconds, stop, reading=True)
        with explain_sqlite_errors(name, deadline, stop):
            yield SqliteConnection(connection, deadline, remark)
    finally:
        stop.interrupt = None
        connection.close()
    if quiet_log and _state(path) != before:
        raise ToolError(f"{name} was changed by another program while it was read; read it again.")


@contextmanager
def open_for_writing(
    path: Path, name: str, stop: StopSignal, seconds: float = WRITE_SECONDS
) -> Iterator[SqliteConnection]:
    """Open in a transaction that is committed at the end and rolled back on any error."""
    try:
        connection = _connect(path, "mode=rw")
    except sqlite3.OperationalError as error:
        raise explain_error(error, name, None, stop) from error
    try:
        with explain_sqlite_errors(name, None, stop):
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("BEGIN IMMEDIATE")
        deadline = _restrict(connection, seconds, stop, reading=False)
        with explain_sqlite_errors(name, deadline, stop):
            yield SqliteConnection(connection, deadline, "")
            connection.set_progress_handler(None, 0)
            connection.set_authorizer(None)
            connection.execute("COMMIT")
    finally:
        stop.interrupt = None
        connection.close()


@contextmanager
def explain_sqlite_errors(name: str, deadline: QueryDeadline | None, stop: StopSignal) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError, SystemError) as error:
        raise explain_error(error, name, deadline, stop) from error


def explain_error(error: Exception, name: str, deadline: QueryDeadline | None, stop: StopSignal) -> Exception:
    """Turn a SQLite failure into a sentence for the model."""
    if isinstance(error, UnicodeDecodeError):
        return ToolError(f"{name} is damaged or not a SQLite database: names in it are not UTF-8.")
    said = clean_line(str(error)).rstrip(".") or type(error).__name__
    if "interrupted" in said:
        if stop.is_set:
            return ThreadStopped()
        seconds = deadline.seconds if deadline is not None else READ_SECONDS
        return ToolError(f"{name}: the query ran longer than {seconds:g} s and was stopped; ask for less.")
    if "locked" in said or "busy" in said:
        return ToolError(f"{name} is in use by another program ({said}); try again in a moment.")
    if "not authorized" in said or "prohibited" in said:
        return ToolError(f"{name}: only reading is allowed here: SELECT, and PRAGMAs that read.")
    if "readonly" in said:
        return ToolError(f"{name} is read-only here; nothing was changed ({said}).")
    if "disk I/O" in said:
        return ToolError(f"{name}: disk failure or truncated file ({said}).")
    if any(word in said for word in ("malformed", "not a database", "corrupt", "unsupported file")):
        return ToolError(f"{name} is damaged or not a SQLite database: {said}.")
    if "one statement at a time" in said:
        return ToolError(f"{name}: give one SQL statement, not several.")
    if "bindings" in said or "did not supply" in said:
        return ToolError(f"{name}: the SQL text has parameters (? or :name); write their values into it.")
    return ToolError(f"{name}: {said[:500]}.")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{urllib_parse.quote(str(path))}?{mode}"
    return sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=0,
    )


def _reader(path: Path, name: str, stop: StopSignal, *, alone: bool) -> tuple[sqlite3.Connection, str]:
    """Open a readable connection; if necessary, one that ignores the log files, with a notice."""
    # SQLite would retry for ten seconds to create a file where a folder is.
    blocked = path.with_name(path.name + "-shm").is_dir()
    if not alone and not blocked:
        connection = None
        try:
            connection = _connect(path, "mode=ro")
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            return connection, ""
        except (sqlite3.Error, UnicodeDecodeError) as error:  # also if SQLite's message is not valid text
            if connection is not None:
                connection.close()
            if not any(word in str(error) for word in ("unable to open", "readonly", "locking protocol")):
                raise explain_error(error, name, None, stop) from error
    try:
        connection = _connect(path, "immutable=1")
    except sqlite3.Error as error:
        raise explain_error(error, name, None, stop) from error
    return connection, "" if alone else _LOG_IGNORED


def _restrict(
    connection: sqlite3.Connection, seconds: float, stop: StopSignal, *, reading: bool
) -> QueryDeadline:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LIKE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
    with explain_sqlite_errors("The database", None, stop):
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        if reading:
            connection.execute("PRAGMA query_only=ON")
    connection.set_authorizer(_authorize)
    deadline = QueryDeadline(seconds, stop)
    connection.set_progress_handler(deadline, _STEPS_BETWEEN_LOOKS)
    stop.interrupt = connection.interrupt
    stop.check()
    return deadline


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in _FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        told_only = name in _TOLD_PRAGMAS and (second is None or name in _PRAGMAS_WITH_A_SUBJECT)
        return sqlite3.SQLITE_OK if told_only else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY


def _header(path: Path) -> bytes:
    # Opening a pipe would block until there is a writer.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(fd, 100) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def _log_size(path: Path) -> int:
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except OSError:
        return 0


def _state(path: Path) -> tuple[int, int, int, int]:
    info = path.stat()
    return info.st_ino, info.st_size, info.st_mtime_ns, _log_size(path)
