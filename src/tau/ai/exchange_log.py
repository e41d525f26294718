"""The last raw responses of model servers, for debugging.

Recording starts when a mode calls `keep`. Requests and headers are not recorded, so no key is here.
Only bytes are stored while a response arrives; they are split into events on demand.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from msgspec import Struct

from tau.ai.transport import Response, Timeouts, Transport
from tau.base.clock import now_ms

MAX_EVENTS = 1_000
MAX_CHARS = 512_000
MAX_EVENT_CHARS = 64_000
MAX_EXCHANGES = 50
MAX_CHUNKS = 20_000
_CUT = "\n[cut: {left:,} more characters]"


class RawEvent(Struct, frozen=True):
    """One raw event without its trailing blank line; long ones are truncated with a note."""

    exchange: int
    text: str


class Exchange:
    """One response. `begun` is False if its start was dropped."""

    def __init__(self, number: int, method: str, url: str) -> None:
        self.number = number
        self.time_ms = now_ms()
        self.method = method
        self.url = _without_secrets(url)
        self.status = 0
        self.begun = True
        self.total_bytes = 0
        self.chunks: deque[bytes] = deque()

    def events(self) -> list[str]:
        """The complete events and the start of the next one."""
        data = b"".join(self.chunks).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self.begun:
            data = data.partition(b"\n\n")[2]
        blocks = data.decode("utf-8", "replace").split("\n\n")
        return [_bounded(block.strip("\n")) for block in blocks if block.strip()]


class ExchangeLog:
    """A bounded record that drops the oldest bytes first. `on_change` is called for new data."""

    def __init__(self) -> None:
        self.exchanges: deque[Exchange] = deque()
        self.on_change: Callable[[], None] | None = None
        self._count = 0
        self._bytes = 0
        self._chunks = 0

    def begin(self, method: str, url: str) -> Exchange:
        self._count += 1
        exchange = Exchange(self._count, method, url)
        self.exchanges.append(exchange)
        while len(self.exchanges) > MAX_EXCHANGES:
            self._forget(self.exchanges.popleft())
        return exchange

    def take(self, exchange: Exchange, chunk: bytes) -> None:
        exchange.total_bytes += len(chunk)
        exchange.chunks.append(chunk[-MAX_CHARS:])
        self._bytes += min(len(chunk), MAX_CHARS)
        self._chunks += 1
        if self._bytes > MAX_CHARS or self._chunks > MAX_CHUNKS:
            self._shrink()
        if self.on_change is not None:
            self.on_change()

    def events(self) -> list[RawEvent]:
        """The last ones, oldest first."""
        found: deque[RawEvent] = deque(maxlen=MAX_EVENTS)
        for exchange in self.exchanges:
            found.extend(RawEvent(exchange.number, text) for text in exchange.events())
        return list(found)

    def _shrink(self) -> None:
        for exchange in self.exchanges:
            while exchange.chunks and (self._bytes > MAX_CHARS or self._chunks > MAX_CHUNKS):
                self._bytes -= len(exchange.chunks.popleft())
                self._chunks -= 1
                exchange.begun = False

    def _forget(self, exchange: Exchange) -> None:
        self._bytes -= sum(map(len, exchange.chunks))
        self._chunks -= len(exchange.chunks)
        exchange.chunks.clear()


_kept: ExchangeLog | None = None


def keep() -> ExchangeLog:
    """Start recording responses of transports created from now on."""
    global _kept
    _kept = _kept or ExchangeLog()
    return _kept


def kept() -> ExchangeLog | None:
    """The record, or None if recording is off."""
    return _kept


def forget() -> None:
    """Stop recording."""
    global _kept
    _kept = None


def watched(http: Transport) -> Transport:
    """Wrap a transport to record its responses, if recording is on."""
    return http if _kept is None else _WatchedResponse(http, _kept)


class _WatchedResponse:
    """Implements `Transport`."""

    def __init__(self, http: Transport, record: ExchangeLog) -> None:
        self._http = http
        self._record = record

    def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> AbstractAsyncContextManager[Response]:
        opened = self._http.open(method, url, headers=headers, body=body, timeouts=timeouts)
        return self._tapped(opened, self._record.begin(method, url))

    async def close(self) -> None:
        await self._http.close()

    @asynccontextmanager
    async def _tapped(
        self, opened: AbstractAsyncContextManager[Response], exchange: Exchange
    ) -> AsyncIterator[Response]:
        async with opened as response:
            exchange.status = response.status
            yield _Tapped(response, self._record, exchange)


class _Tapped:
    """Implements `Response`."""

    def __init__(self, response: Response, record: ExchangeLog, exchange: Exchange) -> None:
        self._response = response
        self._record = record
        self._exchange = exchange

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return _Chunks(self._response.chunks(), self._record, self._exchange)

    async def read(self, limit: int = 1_048_576) -> bytes:
        data = await self._response.read(limit)
        self._record.take(self._exchange, data)
        return data


class _Chunks:
    """A plain iterator, which needs no closing."""

    def __init__(self, chunks: AsyncIterator[bytes], record: ExchangeLog, exchange: Exchange) -> None:
        self._chunks = chunks
        self._record = record
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._chunks.__anext__()
        self._record.take(self._exchange, chunk)
        return chunk


def _without_secrets(url: str) -> str:
    """The URL without parts that may contain a password or a key."""
    url = url.partition("?")[0].partition("#")[0]
    scheme, found, rest = url.partition("://")
    if not found:
        return url
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _bounded(text: str) -> str:
    left = len(text) - MAX_EVENT_CHARS
    return text if left <= 0 else text[:MAX_EVENT_CHARS] + _CUT.format(left=left)
