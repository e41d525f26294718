"""Per-file locks, so that parallel edits of one file all take effect, of other tau processes too."""

import asyncio
import os
import stat
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tau.base.files import try_lock
from tau.coding.files.paths import real

WAIT_S = 10.0  # without any progress of the others
_PAUSE_S = 0.002

# A lock lives while it is held or awaited. It is bound to one event loop, hence the key.
_LOCKS: weakref.WeakValueDictionary[tuple[int, Path], asyncio.Lock] = weakref.WeakValueDictionary()


@asynccontextmanager
async def lock_files(paths: Iterable[Path]) -> AsyncIterator[None]:
    """Lock every file, following links. Locks are acquired in a fixed order to avoid deadlocks.

    Do not nest: to change several files, pass them all at once.
    """
    loop = id(asyncio.get_running_loop())
    files = sorted({real(path) for path in paths})
    async with AsyncExitStack() as stack:
        for path in files:
            lock = _LOCKS.get((loop, path))
            if lock is None:
                lock = _LOCKS[loop, path] = asyncio.Lock()
            await stack.enter_async_context(lock)
        for path in sorted(filter(None, {_locked_path(path) for path in files})):
            fd = await _lock_between_processes(path)
            if fd is not None:
                stack.callback(os.close, fd)
        yield


def _locked_path(path: Path) -> Path | None:
    """The file itself, or its folder if it is written in place: then nobody may have the file open.

    None if there is no such file.
    """
    try:
        info = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(info.st_mode):
        return None
    return path.parent if info.st_nlink > 1 or not os.access(path.parent, os.W_OK) else path


async def _lock_between_processes(path: Path) -> int | None:
    """Lock a file or a folder; None if it is gone, or if someone does not let go of it.

    A lock only spares the work of an edit in vain: the write itself refuses a file changed meanwhile.
    """
    loop = asyncio.get_running_loop()
    deadline, version = loop.time() + WAIT_S, (0, 0)
    while loop.time() < deadline:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            locked = try_lock(fd)
            now = path.lstat()
            # The writer before us has replaced the file: lock the new one.
            if locked and os.path.samestat(os.fstat(fd), now):
                return fd
            if version != (now.st_ino, now.st_mtime_ns):  # many wait, and one of them was served
                deadline, version = loop.time() + WAIT_S, (now.st_ino, now.st_mtime_ns)
        except OSError:
            pass  # deleted meanwhile, or a file system that locks only what is open for writing
        os.close(fd)
        await asyncio.sleep(_PAUSE_S)
    return None
