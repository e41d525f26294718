"""The seam to the network: open a request, read its answer. `ai/http.py` is the real one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds. `first_byte` runs from the sent request to the answer's head, `idle` between two reads."""

    connect: float = 15
    first_byte: float = 300
    idle: float = 120


class Response(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, decoded from its transfer encoding."""
        ...

    async def read(self, limit: int = 1_048_576) -> bytes:
        """The body, at most `limit` bytes of it."""
        ...


class Transport(Protocol):
    def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> AbstractAsyncContextManager[Response]:
        """Send a request. Raises `ProviderError` (retryable) when the server cannot be reached in time."""
        ...

    async def close(self) -> None: ...
