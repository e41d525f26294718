"""The last raw responses of model servers, for debugging.

Recording starts when a mode calls `start_recording`. Requests and headers are not recorded, so no key is
here. Only bytes are stored while a response arrives; they are split into events on demand.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

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
        return [_truncate(block.strip("\n")) for block in blocks if block.strip()]


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
            self._drop(self.exchanges.popleft())
        return exchange

    def add(self, exchange: Exchange, chunk: bytes) -> None:
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

    def _drop(self, exchange: Exchange) -> None:
        self._bytes -= sum(map(len, exchange.chunks))
        self._chunks -= len(exchange.chunks)
        exchange.chunks.clear()


_current: ExchangeLog | None = None


def start_recording() -> ExchangeLog:
    """Start recording responses of transports created from now on."""
    global _current
    _current = _current or ExchangeLog()
    return _current


def current_log() -> ExchangeLog | None:
    """The record, or None if recording is off."""
    return _current


def stop_recording() -> None:
    global _current
    _current = None


def recorded(http: Transport) -> Transport:
    """Wrap a transport to record its responses, if recording is on."""
    return http if _current is None else _RecordingTransport(http, _current)


class _RecordingTransport(Struct):
    """Implements `Transport`."""

    http: Transport
    record: ExchangeLog

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
        opened = self.http.open(method, url, headers=headers, body=body, timeouts=timeouts)
        del body  # do not keep a long conversation in memory while its answer arrives
        exchange = self.record.begin(method, url)
        async with opened as response:
            exchange.status = response.status
            yield _RecordedResponse(response, self.record, exchange)

    async def close(self) -> None:
        await self.http.close()


class _RecordedResponse(Struct):
    """Implements `Response`."""

    response: Response
    record: ExchangeLog
    exchange: Exchange

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return _RecordedChunks(self.response.chunks(), self.record, self.exchange)

    async def read(self, limit: int = 1_048_576) -> bytes:
        data = await self.response.read(limit)
        self.record.add(self.exchange, data)
        return data


class _RecordedChunks(Struct):
    """A plain iterator, which needs no closing."""

    chunks: AsyncIterator[bytes]
    record: ExchangeLog
    exchange: Exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self.chunks.__anext__()
        self.record.add(self.exchange, chunk)
        return chunk


def _without_secrets(url: str) -> str:
    """The URL without parts that may contain a password or a key."""
    url = url.partition("?")[0].partition("#")[0]
    scheme, found, rest = url.partition("://")
    if not found:
        return url
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _truncate(text: str) -> str:
    left = len(text) - MAX_EVENT_CHARS
    return text if left <= 0 else text[:MAX_EVENT_CHARS] + _CUT.format(left=left)
