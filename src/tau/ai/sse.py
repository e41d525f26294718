"""Server-sent events: splits a response into events and decodes their JSON."""

from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from tau.ai.transport import Response
from tau.base.errors import ProviderError
from tau.base.jsonl import decode_json
from tau.base.sizes import MIB, format_bytes
from tau.base.text import shortened

EVENT_BYTES = 16 * MIB
EXCERPT_CHARS = 120

DOCUMENT = "document"  # the name of an event whose data is the whole body
_BLANK = b" \t\r\n" + BOM_UTF8

SseEvent: TypeAlias = tuple[str, bytes]  # the event's name, "message" if it has none, and its data
T = TypeVar("T")
E = TypeVar("E")


class Splitter:
    """Splits a stream into events, however it is chunked."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        found: list[SseEvent] = []
        for block in self.feed_blocks(chunk):
            if block.startswith(b"data: ") and b"\n" not in block:
                found.append(("message", block[6:]))
            elif event := _parse(block):
                found.append(event)
        return found

    def feed_blocks(self, chunk: bytes) -> list[bytes]:
        """The events as their lines, for readers that need more than names and data."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif chunk:
            self._after_cr = False
        if self._pending:
            ends = b"\n\n" in chunk or (self._pending.endswith(b"\n") and chunk.startswith(b"\n"))
            self._pending += chunk
            if not ends:
                self._check_size()
                return []
            chunk = bytes(self._pending)
            self._pending.clear()
        *blocks, tail = chunk.split(b"\n\n")
        self._pending += tail
        self._check_size()
        if blocks and self._at_start:
            self._at_start = False
            blocks[0] = blocks[0].removeprefix(BOM_UTF8)
        return blocks

    def _check_size(self) -> None:
        if len(self._pending) > EVENT_BYTES:
            raise ProviderError(f"The server sent an event of more than {format_bytes(EVENT_BYTES)}.")


def _parse(block: bytes) -> SseEvent | None:
    first, _, rest = block.partition(b"\n")
    if first.startswith(b"event: ") and rest.startswith(b"data: ") and b"\n" not in rest:
        return first[7:].decode("utf-8", "replace") or "message", rest[6:]
    name = ""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    return (name or "message", b"\n".join(data)) if data else None


class EventSplitter(Protocol[E]):
    """Splits a stream into events, however it is chunked."""

    def feed(self, chunk: bytes) -> list[E]: ...


class EventReader(Generic[E]):
    """Iterates over the events of a response; needs no closing.

    An event cut off by the end of the stream is dropped. A body that is JSON or a web page is one event,
    whatever its content type: not every server that is asked for a stream sends one.
    """

    def __init__(
        self, response: Response, splitter: EventSplitter[E], as_event: Callable[[bytes], E]
    ) -> None:
        self._chunks = response.chunks()
        self._splitter = splitter
        self._as_event = as_event
        self._ready: Iterator[E] = iter(())
        self._at_start = True

    def __aiter__(self) -> AsyncIterator[E]:
        return self

    async def __anext__(self) -> E:
        for event in self._ready:
            return event
        async for chunk in self._chunks:
            if self._at_start and (start := chunk.lstrip(_BLANK)[:1]):
                self._at_start = False
                if start in b"{[<":
                    return self._as_event(await self._document(chunk))
            self._ready = iter(self._splitter.feed(chunk))
            for event in self._ready:
                return event
        raise StopAsyncIteration

    async def _document(self, start: bytes) -> bytes:
        body = bytearray(start)
        async for chunk in self._chunks:
            body += chunk
            if len(body) > EVENT_BYTES:
                raise ProviderError(f"The server sent a document of more than {format_bytes(EVENT_BYTES)}.")
        return bytes(body).lstrip(_BLANK)


def read_events(response: Response) -> EventReader[SseEvent]:
    """The events of a response. A body that is no stream is one event named DOCUMENT."""
    return EventReader(response, Splitter(), lambda document: (DOCUMENT, document))


def decode_event(decoder: Decoder[T], data: bytes) -> T:
    """Decode an event's JSON. Bad characters (not UTF-8, lone surrogates) are replaced."""
    text = data.decode("utf-8", "replace")
    try:
        return decode_json(decoder, text)
    except (DecodeError, RecursionError) as error:
        excerpt = shortened(text, EXCERPT_CHARS)
        message = f"The server sent an invalid event ({error}): {excerpt!r}."
        raise ProviderError(message, retryable=True, kind="bug") from error


def event_decoder(decoder: Decoder[T], empty: T) -> Callable[[bytes], T]:
    """Decodes events fast; one without content is `empty`."""
    decode_well = decoder.decode

    def decode(data: bytes) -> T:
        try:
            return decode_well(data)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            return decode_event(decoder, data) if data.strip() else empty

    return decode


def decode_document(decoder: Decoder[T], data: bytes) -> T | None:
    """Decode a whole answer; None if it is another document."""
    try:
        return decode_event(decoder, data)
    except ProviderError:
        return None


class _Kind(Struct, frozen=True):
    type: str = ""


def known_decoder(decoder: Decoder[T], kinds: Collection[str], error: T) -> Callable[[bytes], T | None]:
    """Decodes events by their `type`: None for one of another kind, `error` for an odd one of kind error."""

    def decode(data: bytes) -> T | None:
        try:
            return decoder.decode(data)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            kind = decode_event(Decoder(_Kind), data).type if data.strip() else ""
            if kind == "error":
                return error
            return decode_event(decoder, data) if kind in kinds else None

    return decode
