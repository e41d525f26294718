"""The local file system behind the tools' port: reads, atomic writes, no surprise overwrites."""

import asyncio
import errno
import os
import stat as modes
from collections.abc import Sequence
from pathlib import Path

from tau.agent.ports import Stat
from tau.base.errors import ToolError
from tau.base.files import open_at_once, write_atomic
from tau.base.sizes import KIB

MORE_BYTES = 256 * KIB  # what a file grows by while it is read; those of /proc say that they are empty
MAX_MORE = 100


class LocalFileSystem:
    """Synchronous inside: for files of this size a thread costs more than the disk does."""

    async def read(self, path: Path) -> bytes:
        with open(path, "rb", buffering=0, opener=open_at_once) as file:
            size = os.fstat(file.fileno()).st_size
            pieces = [file.read(size) or b""]
            # Nothing comes from what would make us wait, as some files of /proc do.
            while more := file.read(MORE_BYTES):
                pieces.append(more)
                if len(pieces) > MAX_MORE:
                    raise OSError(errno.EFBIG, "It has more content than its size says, perhaps without end")
        return b"".join(pieces)

    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        await asyncio.sleep(0)  # a long row of parts must not keep the loop from everything else
        with open(path, "rb", opener=open_at_once) as file:
            file.seek(start)
            return file.read(size) or b""

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        """A new file that begins with `#!` becomes executable for those who may read it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        before = _stat(path)
        if expect is not None and before != expect:
            state = "has been deleted" if before is None else "has changed on disk"
            raise ToolError(f"{path} {state} since it was read; nothing was written. Read it again first.")
        write_atomic(path, data, executable=data.startswith(b"#!"))
        after = _stat(path)
        if after is None:
            raise FileNotFoundError(f"{path} was deleted by somebody else right after it was written")
        return after

    async def stat(self, path: Path) -> Stat | None:
        return _stat(path)

    async def list(self, path: Path) -> Sequence[str]:
        return os.listdir(path)  # noqa: PTH208 - names are wanted, not paths

    async def remove(self, path: Path) -> None:
        path.unlink()


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
