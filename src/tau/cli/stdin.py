"""Reads piped input to the end through the event loop."""

import asyncio
import os

from tau.base.errors import UsageError
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import decode, is_binary
from tau.modes.output_stream import tell

STDIN = 0
MAX_BYTES = 4 * MIB
CHUNK_BYTES = 256 * KIB
REMARK_AFTER_S = 3.0


async def read_piped_text() -> str:
    """Read the text on stdin; nothing if stdin is a terminal.

    Waits while the pipe is open, because a slow program may still write to it; prints a notice after a while.
    """
    if os.isatty(STDIN):
        return ""
    reading = _StdinReader()
    remark = asyncio.get_running_loop().call_later(
        REMARK_AFTER_S, tell, "Waiting for piped input to end; start tau with </dev/null to ignore it."
    )
    try:
        return _text(await reading.to_end())
    finally:
        remark.cancel()


class _StdinReader:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._data = bytearray()
        self._end: asyncio.Future[None] = self._loop.create_future()

    async def to_end(self) -> bytes:
        try:
            self._loop.add_reader(STDIN, self._read)
        except PermissionError:  # a file or /dev/null never blocks
            while not self._end.done():
                self._read()
            return bytes(self._data)
        try:
            await self._end
        finally:
            self._loop.remove_reader(STDIN)
        return bytes(self._data)

    def _read(self) -> None:
        try:
            chunk = os.read(STDIN, CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        self._data += chunk
        if self._end.done():
            return
        if len(self._data) > MAX_BYTES:
            problem = f"Piped input is larger than {format_bytes(MAX_BYTES)}; put it in a file and name that."
            self._end.set_exception(UsageError(problem))
        elif not chunk:
            self._end.set_result(None)


def _text(data: bytes) -> str:
    if is_binary(data):
        raise UsageError("Piped input is not text; name a file in the prompt, or pass an image as @FILE.")
    try:
        return decode(data).text
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
