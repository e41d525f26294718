"""The index of all sessions: a database next to their files, updated before each query."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from tau.ai.normalization import clean
from tau.base import log
from tau.base.sizes import MIB
from tau.coding.session.storage.log import pause_gc
from tau.coding.session_index import tables
from tau.coding.session_index.database import (
    OpenedDatabase,
    has_fts5,
    in_memory,
    is_damage,
    open_database,
    replace_database,
    writing,
)
from tau.coding.session_index.file_scan import read_session
from tau.coding.session_index.records import SessionSummary
from tau.coding.session_index.tables import FileKey, FileMark

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]  # files read, files to read

FILE_NAME = "index.db"
ENDING = b".jsonl"
# A file changed less than this before it was read may change again without a new modification time, which
# is as coarse as two seconds on some file systems.
COARSE_NS = 2_000_000_000
_BATCH_FILES = 2_000
_BATCH_BYTES = 64 * MIB
_ATTEMPTS = 3


class SessionRow(Struct, frozen=True, gc=False):
    """One indexed session. The summary is untrusted text: clean it before showing it."""

    file: bytes  # the full path
    size_bytes: int
    changed_ns: int
    summary: SessionSummary

    @property
    def path(self) -> Path:
        return Path(os.fsdecode(self.file))

    @property
    def id(self) -> str:
        """The id for `--resume`: a part of the file name."""
        return id_of(self.file)

    @property
    def changed_ms(self) -> int:
        return self.changed_ns // 1_000_000


def id_of(file: bytes) -> str:
    stem = os.fsdecode(file).rpartition("/")[2].removesuffix(".jsonl")
    return clean(stem.rpartition("_")[2])


class SessionIndex:
    """All sessions below `root`, one folder per working folder; with `flat`, those in `root` itself.

    Every query first checks the files and reads those that have changed. Any number of processes may do so at
    once. If the database cannot be used, all files are read into memory, and `remarks` says so.
    """

    def __init__(self, path: Path, root: Path, *, flat: bool = False) -> None:
        self.remarks: list[str] = []
        self.on_progress: Progress | None = None
        self._path = path
        self._root = os.fsencode(root.absolute())
        self._flat = flat
        self._opened: OpenedDatabase | None = None
        self._memory: sqlite3.Connection | None = None
        self.fts = False  # whether there is a full-text index; otherwise every text is searched

    def close(self) -> None:
        for connection in (self._memory, None if self._opened is None else self._opened.connection):
            if connection is not None:
                connection.close()
        self._memory = self._opened = None

    def __enter__(self) -> "SessionIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sessions(self, folder: Path | None = None, *, limit: int | None = None) -> list[SessionRow]:
        """All sessions, or those in one folder of session files, newest first."""
        where = None if folder is None else os.fsencode(folder.absolute())
        return self.query(lambda db: self._sessions(db, where, limit))

    def rebuild(self) -> int:
        """Clear the index and read all files again; returns the number of sessions."""

        def rebuild(db: sqlite3.Connection) -> int:
            with writing(db):
                tables.drop(db)
                tables.create(db)
            self.fts = tables.prepare(db, has_fts5(db))
            return len(self.current(db)[1])

        return self.query(rebuild)

    def query(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Query the database; replace it if it is damaged, or use one in memory if necessary."""
        for _ in range(_ATTEMPTS):
            if self._memory is not None:
                break
            try:
                return run(self._connected())
            except sqlite3.Error as error:
                if is_damage(error, strange=True) and self._opened is not None:
                    self._replace(error)
                else:
                    self._use_memory(error)
            except OSError as error:
                self._use_memory(error)
        if self._memory is None:
            self._use_memory(sqlite3.DatabaseError("it keeps getting damaged"))
        assert self._memory is not None
        return run(self._memory)

    def _sessions(self, db: sqlite3.Connection, folder: bytes | None, limit: int | None) -> list[SessionRow]:
        with pause_gc():
            paths, rows = self.current(db, folder)
            rows.sort(key=_AGE, reverse=True)
            return [row_of(paths, row) for row in rows[:limit]]

    def _connected(self) -> sqlite3.Connection:
        if self._opened is None:
            self._use(open_database(self._path, tables.SCHEMA))
        assert self._opened is not None
        return self._opened.connection

    def _use(self, opened: OpenedDatabase) -> None:
        self._opened = opened
        if opened.remark is not None:
            self.remarks.append(opened.remark)
            log.warning(opened.remark)
        self.fts = tables.prepare(opened.connection, has_fts5(opened.connection))

    def _replace(self, error: sqlite3.Error) -> None:
        opened, self._opened = self._opened, None
        assert opened is not None
        log.warning("The session index is damaged.", error)
        opened.connection.close()
        try:
            self._use(replace_database(self._path, tables.SCHEMA, opened.inode))
        except (OSError, sqlite3.Error) as failure:
            self._use_memory(failure)

    def _use_memory(self, error: Exception) -> None:
        log.warning("The session index cannot be used.", error)
        self.close()
        reason = getattr(error, "strerror", None) or error
        self.remarks.append(
            f"The index {self._path} cannot be used: {reason}; all session files are read instead."
        )
        self._memory = in_memory(tables.SCHEMA)
        self.fts = tables.prepare(self._memory, has_fts5(self._memory))

    def current(
        self, db: sqlite3.Connection, folder: bytes | None = None
    ) -> tuple[dict[int, bytes], list[tuple[Any, ...]]]:
        """All folders by number and all rows of the table, up to date."""
        # First the index, then the files, so that what another process adds in between is not lost.
        paths, rows = self._indexed_rows(db, folder)
        known: dict[bytes, dict[bytes, FileMark]] = {path: {} for path in paths.values()}
        by_number = {no: known[path] for no, path in paths.items()}
        for row in rows:
            by_number[row[5]][row[6]] = row[:5]
        changed: list[tuple[FileKey, FileMark]] = []
        deleted: list[FileKey] = []
        for path in {*known, *(self._folders() if folder is None else [folder])}:
            before, now = known.get(path, {}), files_in(path)
            if before != now:
                changed += [((path, name), mark) for name, mark in now.items() if before.get(name) != mark]
                deleted += [(path, name) for name in before if name not in now]
        if not changed and not deleted:
            return paths, rows
        done = 0
        for batch in _batches(changed):
            with pause_gc(), writing(db):
                writer = tables.IndexWriter(db, self._root, fts=self.fts)
                for place, mark in batch:
                    self._index_file(db, writer, place, mark)
                writer.finish()
            done += len(batch)
            if self.on_progress is not None:
                self.on_progress(done, len(changed))
        if deleted:
            with writing(db):
                writer = tables.IndexWriter(db, self._root, fts=self.fts)
                for place in deleted:
                    writer.remove(place)
                writer.tidy()
        return self._indexed_rows(db, folder)

    def _indexed_rows(
        self, db: sqlite3.Connection, folder: bytes | None
    ) -> tuple[dict[int, bytes], list[tuple[Any, ...]]]:
        scope, value = ("root", self._root) if folder is None else ("path", folder)
        paths: dict[int, bytes] = dict(
            db.execute(f"SELECT no, path FROM folders WHERE {scope} = ?", (value,))
        )
        if folder is None:
            paths = {no: path for no, path in paths.items() if (path == self._root) is self._flat}
        if len(paths) == 1:
            rows = db.execute(f"{tables.SELECT_ROWS} WHERE folder = ?", tuple(paths)).fetchall()
        else:  # nearly always all folders
            rows = [row for row in db.execute(tables.SELECT_ROWS) if row[5] in paths]
        return paths, rows

    def _index_file(
        self, db: sqlite3.Connection, writer: tables.IndexWriter, place: FileKey, mark: FileMark
    ) -> None:
        """Read a changed file, unless another process has just done so."""
        indexed = tables.find_indexed(db, place)
        if indexed is not None and indexed.mark == mark:
            return
        began_ns = time.time_ns()
        scanned = read_session(b"/".join(place), None if indexed is None else indexed.known)
        if scanned is None:
            writer.remove(place)
            return
        signature = scanned.signature
        settled = began_ns - max(signature.mtime_ns, signature.ctime_ns) > COARSE_NS
        writer.put(place, scanned, indexed, settled=settled)

    def _folders(self) -> list[bytes]:
        if self._flat:
            return [self._root]
        try:
            with os.scandir(self._root) as entries:
                return [entry.path for entry in entries if entry.is_dir()]
        except OSError:
            return []


_AGE = itemgetter(1, 6)  # modification time, then name


def row_of(paths: dict[int, bytes], row: tuple[Any, ...]) -> SessionRow:
    file = b"%b/%b" % (paths[row[5]], row[6])
    return SessionRow(file, row[0], row[1], tables.decode_summary(row[7]))


def files_in(folder: bytes) -> dict[bytes, FileMark]:
    """The session files in a folder now."""
    files: dict[bytes, FileMark] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if not name.endswith(ENDING):
                    continue
                try:
                    info = entry.stat()
                except OSError:  # deleted meanwhile, or a dangling link
                    continue
                if S_ISREG(info.st_mode):
                    files[name] = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, 1)
    except OSError:
        return files
    return files


def _batches(changed: list[tuple[FileKey, FileMark]]) -> Iterator[list[tuple[FileKey, FileMark]]]:
    """Limit each transaction, because other processes wait for it."""
    batch: list[tuple[FileKey, FileMark]] = []
    size = 0
    for one in changed:
        batch.append(one)
        size += one[1][0]
        if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
