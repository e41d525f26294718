"""The local file system for tools: reads, atomic writes, no surprise overwrites."""

import asyncio
import errno
import os
import stat as modes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Literal

from tau.agent.ports import ABSENT, DirectoryEntry, DirectoryScan, Stat
from tau.base.errors import ToolError
from tau.base.files import FileChangedError, Unchanged, remove, write_atomic
from tau.base.late import late
from tau.base.sizes import KIB, MIB

exact_paths = late("tau.base.exact_paths")
threads = late("tau.base.threads")

MORE_BYTES = 256 * KIB  # slack for files that grow while read; files in /proc claim to be empty
MAX_MORE = 64
LARGE_BYTES = MIB  # read and written on a thread


class LocalFileSystem:
    """Synchronous inside, but for large files: for most a thread costs more than the disk.

    Paths are real paths: a link in one of them was put there after the path was checked, and is an error.
    """

    async def read(self, path: Path) -> bytes:
        with open(path, "rb", buffering=0, opener=_opener) as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGE_BYTES:
                return await threads.in_thread(lambda stop: _read(file, size))
            return _read(file, size)

    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        await asyncio.sleep(0)  # a long series of parts must not starve the event loop
        with open(path, "rb", opener=_opener) as file:
            file.seek(start)
            return file.read(size) or b""

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        """A new file starting with `#!` becomes executable for everyone who can read it.

        Other names of the file (hard links), which may be anywhere, keep the old content.
        """
        if len(data) > LARGE_BYTES:
            return await threads.in_thread(lambda stop: _write(path, data, expect))
        return _write(path, data, expect)

    async def stat(self, path: Path) -> Stat | None:
        return _stat(path)

    async def list(self, path: Path) -> Sequence[str]:
        return os.listdir(path)  # noqa: PTH208 - returns names, not paths

    async def scan(self, path: Path, *, most: int) -> DirectoryScan:
        return await threads.in_thread(lambda stop: _scan(path, most, stop))

    async def remove(self, path: Path, *, expect: Stat | None = None) -> None:
        with _in_folder(path) as target:
            try:
                remove(target, unchanged=_as_expected(expect))
            except FileChangedError as error:
                raise _unexpected(path, expect, "deleted") from error


def _write(path: Path, data: bytes, expect: Stat | None) -> Stat:
    with _in_folder(path, make=True) as target:
        if expect is not None and (_stat(target) or ABSENT) != expect:
            raise _unexpected(path, expect, "written")
        try:
            write_atomic(
                target, data, executable=data.startswith(b"#!"), unchanged=_as_expected(expect), links=False
            )
        except FileChangedError as error:
            raise _unexpected(path, expect, "written") from error
        after = _stat(target)
    if after is None:
        raise FileNotFoundError(f"{path} was deleted by another process right after it was written")
    return after


def _opener(path: str, flags: int) -> int:
    """Open without links, and without waiting for the writer of a pipe."""
    return exact_paths.open_exact(path, flags | os.O_NONBLOCK)


@contextmanager
def _in_folder(path: Path, *, make: bool = False) -> Iterator[Path]:
    """The path by way of its folder as it is now; errors name the path as it was given."""
    with exact_paths.pinned(path.parent, make=make) as folder:
        try:
            yield folder / path.name
        except OSError as error:
            error.filename, error.filename2 = str(path), None
            if error.strerror:
                error.strerror = error.strerror.replace(str(folder), str(path.parent))
            raise


def _as_expected(expect: Stat | None) -> Unchanged | None:
    return None if expect is None else lambda info: (ABSENT if info is None else _of(info)) == expect


def _unexpected(path: Path, expect: Stat | None, done: str) -> ToolError:
    now = _stat(path)
    advice = "Read it again first"
    if expect == ABSENT:
        state = "was created by another program meanwhile"
    elif now is None:
        state = "has been deleted since it was read"
    elif now == expect:
        state, advice = "is open for writing in another program", "Try again when that program is done"
    else:
        state = "has changed on disk since it was read"
    return ToolError(f"{path} {state}; nothing was {done}. {advice}.")


def _read(file: FileIO, size: int) -> bytes:
    pieces = [file.read(size) or b""]
    # A read that would block, as in some /proc files, returns nothing.
    while more := file.read(MORE_BYTES):
        pieces.append(more)
        if len(pieces) > MAX_MORE:
            raise OSError(errno.EFBIG, "It is longer than its size says, perhaps endless")
    return b"".join(pieces)


def _scan(path: Path, most: int, stop: "threads.StopSignal") -> DirectoryScan:
    entries: list[DirectoryEntry] = []
    with os.scandir(path) as found:
        for entry in found:
            stop.check()
            if len(entries) == most:
                return DirectoryScan(entries, more=True)
            entries.append(_entry(entry))
    return DirectoryScan(entries)


def _entry(entry: os.DirEntry[str]) -> DirectoryEntry:
    try:
        info = entry.stat(follow_symlinks=False)
        if modes.S_ISLNK(info.st_mode):
            target = os.readlink(entry.path)  # noqa: PTH115 - it is a string already
            return DirectoryEntry(entry.name, "link", 0, info.st_mtime_ns, target)
    except OSError:
        return DirectoryEntry(entry.name, "other")
    if modes.S_ISDIR(info.st_mode):
        return DirectoryEntry(entry.name, "folder", info.st_size, info.st_mtime_ns)
    kind: Literal["file", "other"] = "file" if modes.S_ISREG(info.st_mode) else "other"
    return DirectoryEntry(entry.name, kind, info.st_size, info.st_mtime_ns)


def _stat(path: Path) -> Stat | None:
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _of(info)


def _of(info: os.stat_result) -> Stat:
    return Stat(
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        inode=info.st_ino,
        is_dir=modes.S_ISDIR(info.st_mode),
        mode=info.st_mode,
        names=info.st_nlink,
    )
