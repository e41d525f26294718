"""Measures how long Python was busy without letting the event loop run, in any thread.

A thread that holds Python's lock stops the loop as much as a slow callback does. The time is CPU time of the
process between two beats of the loop, so that other programs do not count.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

BEAT_S = 0.002


class Heartbeat:
    """`held_s` is the longest time between two beats."""

    held_s = 0.0

    async def beat(self) -> None:
        while True:
            before = time.process_time()
            await asyncio.sleep(BEAT_S)
            self.held_s = max(self.held_s, time.process_time() - before)


@asynccontextmanager
async def heartbeat() -> AsyncIterator[Heartbeat]:
    """Beat inside the block. Garbage is not collected there: a test process has that of all its tests."""
    heart = Heartbeat()
    gc.disable()
    task = asyncio.get_running_loop().create_task(heart.beat())
    try:
        await asyncio.sleep(BEAT_S)
        yield heart
        await asyncio.sleep(BEAT_S)  # the last beat counts too
    finally:
        gc.enable()
        task.cancel()
        await asyncio.wait((task,))
