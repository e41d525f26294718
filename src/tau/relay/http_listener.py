"""A small HTTP server for webhooks and hosted files: short requests, one per connection."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from tau.base.errors import UsageError
from tau.base.sizes import KIB

MAX_HEAD_BYTES, MAX_BODY_BYTES = 32 * KIB, 256 * KIB
REQUEST_S = 20
MAX_CONNECTIONS = 64
REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 410: "Gone"}


class HttpRequest(Struct, frozen=True):
    method: str
    target: str
    headers: dict[str, str]  # with names in lower case
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    def form(self) -> list[tuple[str, str]]:
        """Raises ValueError."""
        return parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=200)


class HttpReply(Struct, frozen=True):
    status: int
    body: bytes = b""
    type: str = "text/plain; charset=utf-8"


class HttpListener:
    def __init__(self, answer: Callable[[HttpRequest], Awaitable[HttpReply]]) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self, port: int) -> int:
        """Listen on this machine; returns the port. Raises UsageError if it is taken."""
        try:
            self._server = await asyncio.start_server(
                self._connected, "127.0.0.1", port, limit=MAX_HEAD_BYTES
            )
        except OSError as error:
            raise UsageError(f"Port {port} cannot be used: {error.strerror}.") from None
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._open) < MAX_CONNECTIONS:
                self._open.add(task)
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    async with asyncio.timeout(REQUEST_S):
                        await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the listener closes
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read(reader)
        reply = HttpReply(400, b"Bad request.") if request is None else await self._answer(request)
        head = (
            f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Error')}\r\n"
            f"content-type: {reply.type}\r\ncontent-length: {len(reply.body)}\r\n"
            "x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + (b"" if request and request.method == "HEAD" else reply.body))
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> HttpRequest | None:
    """None for what is not a request."""
    head = await reader.readuntil(b"\r\n\r\n")
    try:
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        size = int(headers.get("content-length", "0"))
    except ValueError:
        return None
    if not 0 <= size <= MAX_BODY_BYTES or "transfer-encoding" in headers:
        return None
    return HttpRequest(method, target, headers, await reader.readexactly(size))
