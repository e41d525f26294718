"""Reads pipes of child processes: in order, without read-ahead, and bounded after the writer's exit."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

from tau.base.sizes import KIB, MIB

CHUNK_BYTES = 64 * KIB
QUIET_S = 0.05  # after the writer's exit, output is complete when the pipe is silent for this long,
DRAIN_S = 0.5  # or after this time at the latest,
DRAIN_BYTES = MIB  # or after this much, which is more than a pipe can hold
SINK_PAUSE_S = 0.05
MAX_SINKS = 64


class Pipe:
    """The reading end of a pipe or terminal, for one reader at a time.

    Call `drain` when the main process has exited. Then a background child that keeps the pipe open does not
    block us: its output is read for a moment longer.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._ended = False
        self._at_end = False  # no writer has the pipe open
        self._busy = False
        self._drain_until: float | None = None
        self._drained_bytes = 0
        self._readable: asyncio.Future[bool] | None = None

    async def read(self) -> bytes:
        """Read the next piece, empty at the end. Never reads ahead: a slow reader slows the writer."""
        if self._busy:
            await asyncio.sleep(0)  # a writer that never pauses must not block the loop
        while not self._ended:
            try:
                chunk = os.read(self._fd, CHUNK_BYTES)
            except BlockingIOError:
                self._busy = False
                self._ended = not await self._has_more()
                continue
            except OSError as error:
                if error.errno != errno.EIO:  # a terminal that its last program has left
                    raise
                chunk = b""
            if self._drain_until is not None:
                self._drained_bytes += len(chunk)
            self._busy = True
            self._at_end = not chunk
            self._ended = not chunk or self._drained_bytes > DRAIN_BYTES
            if chunk:
                return chunk
        return b""

    def drain(self) -> None:
        """Stop soon: read what is in the pipe and what arrives within a moment."""
        if self._drain_until is None:
            self._drain_until = self._loop.time() + DRAIN_S
            self._wake(False)

    def release(self) -> int:
        """Return the descriptor if someone may still write; else close it and return -1."""
        fd, self._fd = self._fd, -1
        self._ended = True
        self._wake(False)
        if fd >= 0 and self._at_end:
            os.close(fd)
            fd = -1
        return fd

    async def _has_more(self) -> bool:
        """Wait until the pipe is readable; False if the writer has exited and nothing more arrived."""
        if self._drain_until is None:
            await self._wait_readable(None)
            return not self._ended
        seconds = min(QUIET_S, self._drain_until - self._loop.time())
        return seconds > 0 and await self._wait_readable(seconds)

    async def _wait_readable(self, seconds: float | None) -> bool:
        """Wait for output (True), or for the writer's exit or the timeout (False)."""
        if self._readable is not None:
            raise RuntimeError("Only one reader at a time can read the output of a process")
        self._readable = self._loop.create_future()
        fd = self._fd
        self._loop.add_reader(fd, self._wake, True)
        timer = None if seconds is None else self._loop.call_later(seconds, self._wake, False)
        try:
            return await self._readable
        finally:
            self._readable = None
            if self._fd == fd:
                self._loop.remove_reader(fd)
            if timer is not None:
                timer.cancel()

    def _wake(self, readable: bool) -> None:
        if self._readable is not None and not self._readable.done():
            if self._fd < 0:
                readable = False
            self._readable.set_result(readable)


class OutputChunks:
    """The output of a process, as an iterator that needs no closing."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        self._read = read

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if chunk := await self._read():
            return chunk
        raise StopAsyncIteration


class Sinks:
    """Slowly reads and discards what background processes write after their command has finished.

    So a server that logs to standard output does not die of SIGPIPE, and one that never pauses is slowed down
    instead of using our CPU.
    """

    def __init__(self) -> None:
        self._open: dict[int, asyncio.TimerHandle | None] = {}

    def adopt(self, fd: int) -> None:
        """Drain a non-blocking pipe; the oldest one is closed if there are too many."""
        if len(self._open) >= MAX_SINKS:
            self._drop(next(iter(self._open)))
        self._watch(fd)

    def close(self) -> None:
        for fd in tuple(self._open):
            self._drop(fd)

    def _watch(self, fd: int) -> None:
        self._open[fd] = None
        asyncio.get_running_loop().add_reader(fd, self._drain, fd)

    def _drain(self, fd: int) -> None:
        try:
            more = bool(os.read(fd, CHUNK_BYTES))
        except BlockingIOError:
            return
        except OSError:
            more = False
        if not more:
            self._drop(fd)
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(fd)
        self._open[fd] = loop.call_later(SINK_PAUSE_S, self._watch, fd)

    def _drop(self, fd: int) -> None:
        timer = self._open.pop(fd)
        if timer is not None:
            timer.cancel()
        else:
            with suppress(RuntimeError):  # the loop is closed
                asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)
