"""The network port: send a request, read its response. `ai/http.py` implements it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class Timeouts(Struct, frozen=True, kw_only=True):
    """In seconds. `first_byte` is from the sent request to the response head, `idle` between two reads."""

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
        """Stream the body, decoded from its transfer encoding."""
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
