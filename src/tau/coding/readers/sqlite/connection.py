"""Open untrusted databases: optionally read-only, bounded in time and size, with readable errors."""

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
_JOURNAL_PAUSE_S = 0.02
MAX_CELL_BYTES = 64 * MIB
MAX_COPIED_BYTES = 256 * MIB
_LIKE_BYTES = 1_000
_STEPS_BETWEEN_LOOKS = 2_000
_WAL_BYTES = slice(18, 20)  # header fields: both are 2 for a database with a write-ahead log
_READ_PRAGMAS = frozenset(
    (
        *("application_id", "auto_vacuum", "collation_list", "compile_options", "data_version"),
        *("database_list", "encoding", "foreign_key_check", "foreign_key_list", "freelist_count"),
        *("function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "journal_mode"),
        *("module_list", "page_count", "page_size", "pragma_list", "quick_check", "schema_version"),
        *("table_info", "table_list", "table_xinfo", "user_version"),
    )
)
_PRAGMAS_WITH_ARGUMENT = frozenset(name for name in _READ_PRAGMAS if name.endswith(("info", "list", "check")))
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
    """Open read-only, by a path without links. Creates no extra files if no one else has it open."""
    _check_place(path, name)
    before = _state(path)
    has_log = _header(path)[_WAL_BYTES] == b"\2\2"
    is_quiet = has_log and not _log_size(path)
    is_left = has_log and not is_quiet and not os.path.lexists(_beside(path, "-shm"))
    with ExitStack() as stack:
        # SQLite would leave an index of the log behind, so it gets a copy of a log that no one has open.
        is_copied = is_left and path.stat().st_size + _log_size(path) <= MAX_COPIED_BYTES
        opened = _copy(path, stack) if is_copied else path
        connection, remark = _reader(opened, name, stop, alone=is_quiet, ignore_log=is_left and not is_copied)
        try:
            deadline = _restrict(connection, seconds, stop, reading=True)
            _check_place(path, name)
            with explain_sqlite_errors(name, deadline, stop):
                yield SqliteConnection(connection, deadline, remark)
        finally:
            stop.interrupt = None
            connection.close()
    if (is_quiet or is_left) and _state(path) != before:
        raise ToolError(f"{name} was changed by another program while it was read; read it again.")


def _copy(path: Path, stack: ExitStack) -> Path:
    """A copy of a database and its log, for as long as the stack is open."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tau-sqlite-")))
    for source in (path, _beside(path, "-wal")):
        shutil.copyfile(source, folder / source.name)
    return folder / path.name


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


@contextmanager
def open_for_writing(
    path: Path, name: str, stop: StopSignal, seconds: float = WRITE_SECONDS
) -> Iterator[SqliteConnection]:
    """Open, by a path without links, in a transaction that is rolled back on any error."""
    _check_place(path, name)
    _check_names(path, name)
    _wait_for_journal(path, name, stop)
    try:
        connection = _connect(path, "mode=rw")
    except sqlite3.OperationalError as error:
        raise explain_error(error, name, None, stop) from error
    try:
        with explain_sqlite_errors(name, None, stop):
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("BEGIN IMMEDIATE")
        _check_place(path, name)
        deadline = _restrict(connection, seconds, stop, reading=False)
        with explain_sqlite_errors(name, deadline, stop):
            yield SqliteConnection(connection, deadline, "")
            connection.set_progress_handler(None, 0)
            connection.set_authorizer(None)
            connection.execute("COMMIT")
    finally:
        stop.interrupt = None
        connection.close()


def _check_place(path: Path, name: str) -> None:
    """SQLite follows links. Raises ToolError if the path has become one since it was approved."""
    if os.path.realpath(path) != str(path):
        raise ToolError(f"{name} now leads to another file; nothing was done. Look at its path again.")


def _check_names(path: Path, name: str) -> None:
    """SQLite writes in place, which would change the other names of the file, wherever they are."""
    if path.stat().st_nlink > 1:
        raise ToolError(f"{name} has a second name (a hard link), which would change too; copy it first.")


def _wait_for_journal(path: Path, name: str, stop: StopSignal) -> None:
    """Wait for the transaction of another program. Raises ToolError if it was left unfinished.

    SQLite would roll it back, and on the way delete a file that the journal names: any file.
    """
    until = time.monotonic() + BUSY_SECONDS
    journal = _beside(path, "-journal")
    while _is_hot(journal):
        stop.check()
        if time.monotonic() > until:
            raise ToolError(
                f"{name} has an unfinished transaction in {journal.name}, so it is in use by another program "
                "or was left by one; finish it with sqlite3 in bash."
            )
        time.sleep(_JOURNAL_PAUSE_S)


def _is_hot(journal: Path) -> bool:
    try:
        return _header(journal)[:1] not in (b"", b"\0")
    except OSError:
        return False


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
    if isinstance(error, UnicodeEncodeError):
        return ToolError(f"{name}: the text contains a lone surrogate, which no database can store.")
    message = clean_line(str(error)).rstrip(".") or type(error).__name__
    if "interrupted" in message:
        if stop.is_set:
            return ThreadStopped()
        seconds = deadline.seconds if deadline is not None else READ_SECONDS
        return ToolError(f"{name}: the query ran longer than {seconds:g} s and was stopped; ask for less.")
    if "locked" in message or "busy" in message:
        return ToolError(f"{name} is in use by another program ({message}); try again in a moment.")
    if "not authorized" in message or "prohibited" in message:
        return ToolError(f"{name}: only reading is allowed here: SELECT, and PRAGMAs that read.")
    if "readonly" in message:
        return ToolError(f"{name} is read-only here; nothing was changed ({message}).")
    if "disk I/O" in message:
        return ToolError(f"{name}: disk failure or truncated file ({message}).")
    if any(word in message for word in ("malformed", "not a database", "corrupt", "unsupported file")):
        return ToolError(f"{name} is damaged or not a SQLite database: {message}.")
    if "one statement at a time" in message:
        return ToolError(f"{name}: give one SQL statement, not several.")
    if "bindings" in message or "did not supply" in message:
        return ToolError(f"{name}: the SQL text has parameters (? or :name); write their values into it.")
    return ToolError(f"{name}: {message[:500]}.")


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


def _reader(
    path: Path, name: str, stop: StopSignal, *, alone: bool, ignore_log: bool
) -> tuple[sqlite3.Connection, str]:
    """Open a readable connection; if necessary, one that ignores the log files, with a notice."""
    # SQLite would retry for ten seconds to create a file where a folder is.
    ignore_log |= _beside(path, "-shm").is_dir()
    if not alone and not ignore_log:
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
        only_reads = name in _READ_PRAGMAS and (second is None or name in _PRAGMAS_WITH_ARGUMENT)
        return sqlite3.SQLITE_OK if only_reads else sqlite3.SQLITE_DENY
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
        return _beside(path, "-wal").stat().st_size
    except OSError:
        return 0


def _state(path: Path) -> tuple[int, int, int, int]:
    info = path.stat()
    return info.st_ino, info.st_size, info.st_mtime_ns, _log_size(path)
