"""JSON lines: splits a response into one document per line."""

from collections.abc import AsyncIterator, Iterator

from msgspec import DecodeError, Raw, json

from tau.ai.sse import EVENT_BYTES
from tau.ai.transport import Response
from tau.base.errors import ProviderError
from tau.base.sizes import format_bytes


class ResponseLines:
    """Iterates over the lines of a response that are not blank; needs no closing.

    A last line without an end counts if it is a whole document; else it is the `tail`.
    """

    def __init__(self, response: Response) -> None:
        self._chunks = response.chunks()
        self._pending = bytearray()
        self._ready: Iterator[bytes] = iter(())
        self.tail = b""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for line in self._ready:
            return line
        async for chunk in self._chunks:
            self._ready = iter(self._split(chunk))
            for line in self._ready:
                return line
        line = bytes(self._pending).strip()
        self._pending.clear()
        if line and _is_whole(line):
            return line
        self.tail = self.tail or line
        raise StopAsyncIteration

    def _split(self, chunk: bytes) -> list[bytes]:
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(self._pending) + lines[0]
            self._pending.clear()
        self._pending += rest
        if len(self._pending) > EVENT_BYTES:
            raise ProviderError(f"The server sent a line of more than {format_bytes(EVENT_BYTES)}.")
        return [line for line in lines if line.strip()]


def _is_whole(line: bytes) -> bool:
    try:
        json.decode(line, type=Raw)
    except (DecodeError, RecursionError):
        return False
    return True
