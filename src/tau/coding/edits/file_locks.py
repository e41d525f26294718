"""Changes of one file take turns, whoever makes them, so that parallel edits all land."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tau.coding.files.paths import real

# A lock lives as long as somebody holds it or waits for it. It belongs to one event loop, hence the key.
_TURNS: weakref.WeakValueDictionary[tuple[int, Path], asyncio.Lock] = weakref.WeakValueDictionary()


@asynccontextmanager
async def turns(paths: Iterable[Path]) -> AsyncIterator[None]:
    """Hold the turn of every file, links followed. Taken in one order, so that no two wait for each other.

    Not to be nested: what changes several files names them all at once.
    """
    loop = id(asyncio.get_running_loop())
    async with AsyncExitStack() as stack:
        for path in sorted({real(path) for path in paths}):
            lock = _TURNS.get((loop, path))
            if lock is None:
                lock = _TURNS[loop, path] = asyncio.Lock()
            await stack.enter_async_context(lock)
        yield
