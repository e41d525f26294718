"""Moves bytes between two connections, with a bounded buffer and a limit on silence."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress

from tau.backends.sandbox.network.addresses import BUFFER_BYTES, Streams
from tau.backends.sandbox.network.http_head import BadRequestError
from tau.base.tasks import spawn

_MAX_SIZE_LINE_BYTES = 256


class Silence:
    """Notices when nothing moved in either direction for `limit_s`."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._moved_at = asyncio.get_running_loop().time()

    async def read(self, reader: asyncio.StreamReader, max_bytes: int = BUFFER_BYTES) -> bytes:
        """Empty at the end, or after too long a silence."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout_at(self._moved_at + self.limit_s):
                    data = await reader.read(max_bytes)
            except TimeoutError:
                if loop.time() >= self._moved_at + self.limit_s:
                    return b""
                continue
            self._moved_at = loop.time()
            return data


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silence: Silence) -> None:
    """Copy until the end, and pass the end on."""
    with suppress(OSError):
        while data := await silence.read(reader):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def splice(one: Streams, other: Streams, idle_s: float) -> None:
    """Connect two streams until both directions ended or nothing moves."""
    silence = Silence(idle_s)
    async with asyncio.TaskGroup() as group:
        spawn(group, copy(one[0], other[1], silence))
        spawn(group, copy(other[0], one[1], silence))


async def exchange(client: Streams, server: Streams, body_bytes: int | None, idle_s: float) -> None:
    """Send one request body, then nothing more, and return the answer."""
    silence = Silence(idle_s)

    async def send() -> None:
        with suppress(OSError, EOFError, asyncio.LimitOverrunError, BadRequestError):
            async for data in read_body(client[0], body_bytes, silence):
                server[1].write(data)
                await server[1].drain()
            # Another request on this connection could name another host: it ends the connection.
            if not await silence.read(client[0]):
                return
        server[1].close()

    async with asyncio.TaskGroup() as group:
        sending = spawn(group, send())
        await copy(server[0], client[1], silence)
        sending.cancel()


async def read_body(
    reader: asyncio.StreamReader, body_bytes: int | None, silence: Silence
) -> AsyncIterator[bytes]:
    """Yield the body as it goes on: chunks are framed again, trailers dropped."""
    if body_bytes is not None:
        async for data in _read_exactly(reader, body_bytes, silence):
            yield data
        return
    while size := await _chunk_size(reader, silence):
        yield f"{size:x}\r\n".encode()
        async for data in _read_exactly(reader, size, silence):
            yield data
        if await reader.readexactly(2) != b"\r\n":
            raise BadRequestError("a chunk has no end")
        yield b"\r\n"
    for _ in range(_MAX_SIZE_LINE_BYTES):
        if await reader.readuntil(b"\r\n") == b"\r\n":
            yield b"0\r\n\r\n"
            return
    raise BadRequestError("the trailer has no end")


async def _chunk_size(reader: asyncio.StreamReader, silence: Silence) -> int:
    async with asyncio.timeout(silence.limit_s):
        line = await reader.readuntil(b"\r\n")
    match = re.fullmatch(rb"([0-9a-fA-F]{1,15})\r\n", line)
    if match is None:
        raise BadRequestError("a chunk has no size")
    return int(match[1], 16)


async def _read_exactly(reader: asyncio.StreamReader, count: int, silence: Silence) -> AsyncIterator[bytes]:
    while count:
        data = await silence.read(reader, min(count, BUFFER_BYTES))
        if not data:
            raise asyncio.IncompleteReadError(b"", count)
        count -= len(data)
        yield data
