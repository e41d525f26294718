"""Per-file locks, so that parallel edits of one file all take effect."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tau.coding.files.paths import real

# A lock lives while it is held or awaited. It is bound to one event loop, hence the key.
_TURNS: weakref.WeakValueDictionary[tuple[int, Path], asyncio.Lock] = weakref.WeakValueDictionary()


@asynccontextmanager
async def turns(paths: Iterable[Path]) -> AsyncIterator[None]:
    """Lock every file, following links. Locks are acquired in a fixed order to avoid deadlocks.

    Do not nest: to change several files, pass them all at once.
    """
    loop = id(asyncio.get_running_loop())
    async with AsyncExitStack() as stack:
        for path in sorted({real(path) for path in paths}):
            lock = _TURNS.get((loop, path))
            if lock is None:
                lock = _TURNS[loop, path] = asyncio.Lock()
            await stack.enter_async_context(lock)
        yield
