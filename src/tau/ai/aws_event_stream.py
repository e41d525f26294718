"""The binary framing of Amazon's event streams: splits a response into messages, and checks them."""

from binascii import crc32
from collections.abc import Iterator
from struct import Struct as Layout
from typing import TypeAlias

from tau.ai.sse import EVENT_BYTES, EventReader
from tau.ai.transport import Response
from tau.base.errors import ProviderError
from tau.base.sizes import format_bytes

PRELUDE = Layout(">III")  # length of the message, length of its headers, checksum of both
CHECKSUM = Layout(">I")
BYTES, STRING = 6, 7  # types of headers with their length in front
# Bytes of a header's value, by its type.
FIXED_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

EventMessage: TypeAlias = tuple[dict[str, str], bytes]  # headers and payload

DAMAGED = "The server sent a damaged event stream."


class FrameSplitter:
    """Splits a stream into messages, however it is chunked."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> list[EventMessage]:
        self._pending += chunk
        found: list[EventMessage] = []
        start = 0
        while len(self._pending) - start >= PRELUDE.size:
            length, header_bytes, checksum = PRELUDE.unpack_from(self._pending, start)
            if crc32(self._pending[start : start + 8]) != checksum:
                raise ProviderError(DAMAGED, retryable=True)
            if length > EVENT_BYTES:
                raise ProviderError(f"The server sent an event of more than {format_bytes(EVENT_BYTES)}.")
            if length < PRELUDE.size + header_bytes + CHECKSUM.size:
                raise ProviderError(DAMAGED, retryable=True)
            if len(self._pending) - start < length:
                break
            found.append(_message(bytes(self._pending[start : start + length]), header_bytes))
            start += length
        del self._pending[:start]
        return found


def _message(frame: bytes, header_bytes: int) -> EventMessage:
    end = len(frame) - CHECKSUM.size
    if crc32(frame[:end]) != CHECKSUM.unpack_from(frame, end)[0]:
        raise ProviderError(DAMAGED, retryable=True)
    begin = PRELUDE.size + header_bytes
    try:
        headers = dict(_headers(frame[PRELUDE.size : begin]))
    except (IndexError, KeyError, ValueError) as error:
        raise ProviderError(DAMAGED, retryable=True) from error
    return headers, frame[begin:end]


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    """The headers that are strings; others are skipped."""
    place = 0
    while place < len(data):
        end = place + 1 + data[place]
        name, kind = data[place + 1 : end].decode(), data[end]
        place = end + 1
        if kind in (BYTES, STRING):
            size = int.from_bytes(data[place : place + 2], "big")
            place += 2
        else:
            size = FIXED_BYTES[kind]
        if place + size > len(data):
            raise ValueError("a header is cut off")
        if kind == STRING:
            yield name, data[place : place + size].decode()
        place += size


def read_messages(response: Response) -> EventReader[EventMessage]:
    """The messages of a response. A body that is no stream is one message without headers."""
    return EventReader(response, FrameSplitter(), lambda document: ({}, document))
