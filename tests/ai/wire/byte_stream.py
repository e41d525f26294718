"""A transport whose answer arrives in the chunks that a test wants."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.model import Model
from tau.ai.transport import Response, Timeouts

ENDPOINT = d.Endpoint(base_url="https://acme.example/v1", key="key-1")


class ChunkedResponse:
    status = 200

    def __init__(self, chunks: Sequence[bytes], headers: Mapping[str, str]) -> None:
        self._chunks = chunks
        self.headers = headers

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if chunk:
                yield chunk

    async def read(self, limit: int = 1_048_576) -> bytes:
        return b"".join(self._chunks)[:limit]


class ByteStream:
    """The transport. It answers every request with the same chunks."""

    def __init__(self, *chunks: bytes, content_type: str = "text/event-stream") -> None:
        self._chunks = chunks
        self._headers = {"content-type": content_type}
        self.sent = b""

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> AsyncIterator[Response]:
        self.sent = body or b""
        yield ChunkedResponse(self._chunks, self._headers)

    async def close(self) -> None:
        pass


async def deltas_of(speaker: Model, request: d.Request, *chunks: bytes) -> list[d.Delta]:
    """What a dialect makes of these bytes."""
    async with aclosing(dialect(speaker.api)(speaker, request, ENDPOINT, ByteStream(*chunks))) as deltas:
        return [delta async for delta in deltas]
