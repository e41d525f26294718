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
from tau.base.sizes import MIB

LENGTH_BYTES = 8
MAX_REPLY_BYTES = 64 * MIB


class WorkerFailed(Exception):
    """The process could not be started, ended or took too long; `str()` is the reason, as a clause."""


class WarmWorker:
    """Runs `python -m module`, which calls `serve`. The first request starts it; close it after use."""

    def __init__(self, module: str, run: Runner) -> None:
        self._module, self._run = module, run
        self._stack = AsyncExitStack()
        self._process: Process | None = None
        self._lock = asyncio.Lock()

    async def ask(self, request: bytes, seconds: float) -> bytes:
        """Raises WorkerFailed; the next request then starts another process."""
        async with self._lock:
            done = False
            try:
                async with asyncio.timeout(seconds):
                    reply = await self._exchange(request)
                done = True
                return reply
            except TimeoutError:
                raise WorkerFailed(f"that takes longer than {seconds:g} s") from None
            except OSError as error:
                raise WorkerFailed("the process failed") from error
            finally:
                if not done:
                    await self.close()

    async def _exchange(self, request: bytes) -> bytes:
        data = len(request).to_bytes(LENGTH_BYTES, "big") + request
        process = self._process
        try:
            if process is not None:
                await process.write(data)
                return await _reply(process)
        except OSError:
            await self.close()  # it ended because it had nothing to do
        process = await self._start()
        await process.write(data)
        return await _reply(process)

    async def _start(self) -> Process:
        # -P: a module in the working folder must not shadow ours.
        command = [sys.executable, "-P", "-m", self._module]
        started = await self._run.start(command, cwd=Path("/"), stdin="open", sandbox=OUTSIDE)
        self._process = await self._stack.enter_async_context(started)
        return self._process

    async def close(self) -> None:
        """End the process; it has nothing to finish."""
        process, self._process = self._process, None
        if process is not None:
            await process.kill(grace=0.0)
        await self._stack.aclose()


async def _reply(process: Process) -> bytes:
    received = bytearray()
    async for chunk in process.output():
        received += chunk
        size = int.from_bytes(received[:LENGTH_BYTES], "big")
        if len(received) >= LENGTH_BYTES and size > MAX_REPLY_BYTES:
            break
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
