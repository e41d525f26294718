"""Reads lines from an input such as stdin through the event loop, without blocking."""

import asyncio
import os
from collections import deque

from tau.base.errors import TauError
from tau.base.sizes import KIB, MIB, format_bytes

CHUNK_BYTES = 64 * KIB
MAX_LINE_BYTES = 16 * MIB
PASTE_GAP_S = 0.02


class InputInterrupted(Exception):
    """The user pressed Ctrl+C while a line was awaited."""


class LineReader:
    """Reads nothing before a line is awaited.

    Of several waiters, the last is served first, so that a new question gets the answer.
    """

    def __init__(self, fd: int, max_line_bytes: int | None = None) -> None:
        self.fd = fd
        self._max_line_bytes = MAX_LINE_BYTES if max_line_bytes is None else max_line_bytes
        self.is_terminal = os.isatty(fd)
        self.closed = False
        self._ready: deque[str | TauError] = deque()
        self._waiting: list[asyncio.Future[None]] = []
        self._partial = bytearray()
        self._skipping = False  # the rest of an overlong line
        self._ended = False
        self._reading = False

    async def next(self) -> str | None:
        """The next line without its end; None at the end of input. A canceled wait loses no line.

        Raises TauError for an overlong line; later lines can still be read.
        """
        while not self._ready and not self._ended:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                self._start()
                await waiter
            finally:
                self._waiting.remove(waiter)
                if self._ready and waiter.done() and self._waiting:
                    self._wake()
                if not self._waiting:
                    self._pause()
        if not self._ready:
            return None
        line = self._ready.popleft()
        if isinstance(line, TauError):
            raise line
        return line

    async def pasted(self) -> list[str]:
        """On a terminal, the lines that follow immediately: a paste, so they belong together."""
        lines: list[str] = []
        while self.is_terminal:
            try:
                async with asyncio.timeout(PASTE_GAP_S):
                    line = await self.next()
            except TimeoutError:
                if self._ready:  # it arrived at the last moment
                    continue
                break
            if line is None:
                break
            lines.append(line)
        return lines

    def interrupt(self, reason: Exception | None = None) -> None:
        """Raise InputInterrupted, or another reason, in the waiter."""
        for waiter in reversed(self._waiting):
            if not waiter.done():
                waiter.set_exception(reason or InputInterrupted())
                return

    def close(self) -> None:
        """Stop reading: everyone sees the end of input."""
        self.closed = self._ended = True
        self._ready.clear()
        self._pause()
        self._wake()

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            asyncio.get_running_loop().remove_reader(self.fd)

    def _start(self) -> None:
        if self._reading:
            return
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self.fd, self._read)
            self._reading = True
        except PermissionError:  # a file, or /dev/null: never blocks
            loop.call_soon(self._read)

    def _read(self) -> None:
        if self.closed:
            return
        try:
            data = os.read(self.fd, CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # a closed terminal, or stdin that was never open
            data = b""
        if data:
            self._split(data)
        else:
            self._end()
        if self._ready or self._ended:
            self._wake()
        elif not self._reading and self._waiting:
            self._start()

    def _split(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            if not self._skipping:
                self._ready.append(_text(self._partial + piece))
            self._partial.clear()
            self._skipping = False
        if not self._skipping:
            self._partial += rest
        if len(self._partial) > self._max_line_bytes:
            limit = format_bytes(self._max_line_bytes)
            self._ready.append(TauError(f"Skipped a line longer than {limit}."))
            self._partial.clear()
            self._skipping = True

    def _end(self) -> None:
        self._ended = True
        if self._partial:
            self._ready.append(_text(self._partial))
            self._partial.clear()
        self._pause()

    def _wake(self) -> None:
        for waiter in reversed(self._waiting):
            if not waiter.done():
                waiter.set_result(None)
                if not self._ended:
                    return


def _text(line: bytes | bytearray) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")
