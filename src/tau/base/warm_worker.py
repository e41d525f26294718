"""A helper process that answers one request after the other, so that only the first pays for its start.

Requests and replies are bytes, each after its length.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import BinaryIO

from tau.base.run import OUTSIDE, Process, Runner

LENGTH_BYTES = 8


class WorkerFailed(Exception):
    """The process could not be started, ended or took too long; `str()` is the reason, as a clause."""


class WarmWorker:
    """Runs `python -m module`, which calls `serve`. The first request starts it; close it after use."""

    def __init__(self, module: str, run: Runner) -> None:
        self._module, self._run = module, run
        self._stack = AsyncExitStack()
        self.process: Process | None = None  # if it runs
        self._lock = asyncio.Lock()

    async def ask(self, request: bytes, seconds: float) -> bytes:
        """Raises WorkerFailed; the next request then starts another process."""
        async with self._lock:
            try:
                async with asyncio.timeout(seconds):
                    return await self._exchange(request)
            except BaseException as error:
                await self.close()
                if isinstance(error, TimeoutError):
                    raise WorkerFailed(f"that takes longer than {seconds:g} s") from None
                if isinstance(error, OSError):
                    raise WorkerFailed("the process failed") from error
                raise

    async def _exchange(self, request: bytes) -> bytes:
        if self.process is not None:
            try:
                return await _reply(self.process, request)
            except OSError:
                await self.close()  # it ended because it had nothing to do
        # -P: a module in the working folder must not shadow ours.
        command = [sys.executable, "-P", "-m", self._module]
        started = await self._run.start(command, cwd=Path("/"), stdin="open", sandbox=OUTSIDE)
        self.process = await self._stack.enter_async_context(started)
        return await _reply(self.process, request)

    async def close(self) -> None:
        """End the process; it has nothing to finish."""
        process, self.process = self.process, None
        if process is not None:
            await process.kill(grace=0.0)
        await self._stack.aclose()


async def _reply(process: Process, request: bytes) -> bytes:
    await process.write(len(request).to_bytes(LENGTH_BYTES, "big") + request)
    received = bytearray()
    async for chunk in process.output():
        received += chunk
        size = int.from_bytes(received[:LENGTH_BYTES], "big")
        if len(received) >= LENGTH_BYTES + size:
            return bytes(received[LENGTH_BYTES:])
    raise OSError("It ended")


def serve(answer: Callable[[bytes], bytes], source: BinaryIO, target: BinaryIO, idle_s: int = 0) -> None:
    """Answer requests until the input ends, or none came for `idle_s`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while True:
        signal.alarm(idle_s)
        request = source.read(int.from_bytes(source.read(LENGTH_BYTES), "big"))
        signal.alarm(0)
        if not request:
            return
        data = answer(request)
        target.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
        target.flush()
