"""The local file system for tools: reads, atomic writes, no surprise overwrites."""

import asyncio
import errno
import os
import stat as modes
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tau.agent.ports import DirectoryEntry, DirectoryScan, Stat
from tau.base.errors import ToolError
from tau.base.files import open_at_once, write_atomic
from tau.base.late import late
from tau.base.sizes import KIB

threads = late("tau.base.threads")

MORE_BYTES = 256 * KIB  # slack for files that grow while read; files in /proc claim to be empty
MAX_MORE = 100


class LocalFileSystem:
    """Synchronous inside: for files of this size a thread costs more than the disk."""

    async def read(self, path: Path) -> bytes:
        with open(path, "rb", buffering=0, opener=open_at_once) as file:
            size = os.fstat(file.fileno()).st_size
            pieces = [file.read(size) or b""]
            # A read that would block, as in some /proc files, returns nothing.
            while more := file.read(MORE_BYTES):
                pieces.append(more)
                if len(pieces) > MAX_MORE:
                    raise OSError(errno.EFBIG, "It is longer than its size says, perhaps endless")
        return b"".join(pieces)

    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        await asyncio.sleep(0)  # a long series of parts must not starve the event loop
        with open(path, "rb", opener=open_at_once) as file:
            file.seek(start)
            return file.read(size) or b""

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        """A new file starting with `#!` becomes executable for everyone who can read it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        before = _stat(path)
        if expect is not None and before != expect:
            state = "has been deleted" if before is None else "has changed on disk"
            raise ToolError(f"{path} {state} since it was read; nothing was written. Read it again first.")
        write_atomic(path, data, executable=data.startswith(b"#!"))
        after = _stat(path)
        if after is None:
            raise FileNotFoundError(f"{path} was deleted by another process right after it was written")
        return after

    async def stat(self, path: Path) -> Stat | None:
        return _stat(path)

    async def list(self, path: Path) -> Sequence[str]:
        return os.listdir(path)  # noqa: PTH208 - returns names, not paths

    async def scan(self, path: Path, *, most: int) -> DirectoryScan:
        return await threads.in_thread(lambda stop: _scan(path, most, stop))

    async def remove(self, path: Path) -> None:
        path.unlink()


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
    return Stat(
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        inode=info.st_ino,
        is_dir=modes.S_ISDIR(info.st_mode),
        mode=info.st_mode,
    )
