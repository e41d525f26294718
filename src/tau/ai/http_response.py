"""One HTTP/1.1 response: its head, then its body, with backpressure."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httptools
from msgspec import Struct

from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError
from tau.base.late import late
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import shortened

zlib = late("zlib")

READ_BYTES = 64 * KIB
HEAD_BYTES = 64 * KIB  # of a head, or anything else that is not body
INFLATED_BYTES = 256 * KIB  # at most, from one step of decompression
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
_JOIN_BYTES = 256 * KIB


class StaleConnection(ProviderError):
    """The server closed the connection without answering."""


class HttpConnection(Struct, frozen=True):
    """`peer` names the other side in messages."""

    peer: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def has_input(self) -> bool:
        """Whether something can be read without waiting: bytes, or the end."""
        reading = self.reader.read(1)
        try:
            reading.send(None)
        except StopIteration:
            return True
        except OSError:
            return True
        reading.close()
        return False

    def abort(self) -> None:
        """Close immediately."""
        self.writer.transport.abort()


class HttpResponse:
    """The response to one request, and the single iterator over its body."""

    def __init__(self, connection: HttpConnection, *, bodiless: bool = False) -> None:
        self.connection = connection
        self.status = 0
        self.body_bytes = 0  # received so far, before decompression
        self.headers: dict[str, str] = {}
        self.complete = self.keep_alive = self.closed = False
        self._bodiless = bodiless
        self._until_close = False
        self._parser: Any = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._bytes_since_body = 0  # received since the last byte of a body
        self._idle_s = 0.0
        self._inflate: Any = None

    async def head(self, head: bytes, body: bytes = b"", *, timeouts: Timeouts) -> "HttpResponse":
        """Send the request and wait until `status` and `headers` are known."""
        self._idle_s = timeouts.idle
        deadline = asyncio.get_running_loop().time() + timeouts.first_byte
        if len(body) > _JOIN_BYTES:  # joining would double the memory
            self.connection.writer.write(head)
            self.connection.writer.write(body)
        else:
            self.connection.writer.write(head + body)
        try:
            while not self.status:
                await self._receive(deadline, f"did not answer within {timeouts.first_byte:g} s")
        except BaseException:
            self.connection.abort()
            raise
        return self

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.closed:
            raise RuntimeError("the body is read after its request was closed")
        coding = self.headers.get("content-encoding", "").strip().lower() or "identity"
        data = await (self._piece() if coding == "identity" else self._inflated(coding))
        if not data:
            raise StopAsyncIteration
        return data

    async def read(self, limit: int = MIB) -> bytes:
        body = bytearray()
        async for chunk in self:
            body += chunk
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    async def _piece(self) -> bytes:
        loop = asyncio.get_running_loop()
        while not self._pieces and not self.complete:
            await self._receive(
                loop.time() + self._idle_s, f"sent nothing for {self._idle_s:g} s during its answer"
            )
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data

    async def _inflated(self, coding: str) -> bytes:
        """We do not ask for compression; some servers compress anyway."""
        if coding not in CODINGS:
            raise ProviderError(
                f"The answer of {self.connection.peer} cannot be read as {shortened(coding, 40)}: tau reads "
                "gzip and deflate only, and asks for neither; turn compression off in the server or gateway."
            )
        data = b""
        while not data:
            packed = (self._inflate and self._inflate.unconsumed_tail) or await self._piece()
            if not packed and (self._inflate is None or self._inflate.eof):
                break
            if self._inflate is None:
                # 47 reads gzip and zlib; -15 reads deflate without a header, which some servers send.
                raw = coding == "deflate" and packed[0] & 15 != 8
                self._inflate = zlib.decompressobj(-15 if raw else 47)
            try:
                data = self._inflate.decompress(packed, INFLATED_BYTES)
                if not packed:
                    raise zlib.error("it ends early")
            except zlib.error as error:
                cut = not packed  # and whole next time, perhaps
                advice = "" if cut else "; turn compression off in the server or gateway"
                message = f"The answer of {self.connection.peer} cannot be read as {coding}: {error}{advice}."
                raise ProviderError(message, retryable=cut) from error
        return data

    async def _receive(self, deadline: float, problem: str) -> None:
        peer, reason = self.connection.peer, ""
        try:
            async with asyncio.timeout_at(deadline):
                data = await self.connection.reader.read(READ_BYTES)
        except TimeoutError as error:
            raise ProviderError(f"{peer} {problem}.", retryable=True) from error
        except OSError as error:
            data, reason = b"", f" ({error})"
        if not data:
            if not self._until_close or reason:
                answered = self.status or self._bytes_since_body
                where = "in the middle of its answer" if answered else "without an answer"
                kind = ProviderError if answered else StaleConnection
                raise kind(f"Connection lost: {peer} closed it {where}{reason}.", retryable=True)
            self.complete = True
        self._bytes_since_body += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.keep_alive = False
            if not self.complete:
                message = f"The answer of {peer} is not valid HTTP: {error}."
                raise ProviderError(message, retryable=self.status != 0) from error
        if self._bytes_since_body > HEAD_BYTES:
            raise ProviderError(f"The answer of {peer} has a head of more than {format_bytes(HEAD_BYTES)}.")

    def on_message_begin(self) -> None:
        self.keep_alive = False  # and stays so for an unsolicited response
        if not self.status:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:  # later headers are trailers
            key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.status or status < 200:
            return
        self.status, self.complete, self._bytes_since_body = status, self._bodiless, 0
        chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        self._until_close = not chunked and "content-length" not in self.headers
        self.keep_alive = self._parser.should_keep_alive() and not self._bodiless

    def on_body(self, data: bytes) -> None:
        if not self.complete:
            self.body_bytes += len(data)
            self._pieces.append(data)
            self._bytes_since_body = 0

    def on_message_complete(self) -> None:
        self.complete = self.status != 0
