"""The private channel to a kernel (JSON lines over a socket pair), and the marks in its output."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from tau.base import log
from tau.base.sizes import MIB

SEQUENCE_DIGITS = 8
VARIABLE = "TAU_KERNEL"  # holds the file descriptor of the kernel's end of the channel
MAX_LINE_BYTES = 64 * MIB


class KernelReady(Struct, frozen=True, tag_field="t", tag="ready"):
    """`mark` is the secret in the marks that the kernel writes to its output."""

    version: str
    mark: str


class HostCall(Struct, frozen=True, tag_field="t", tag="call"):
    id: int
    op: str
    args: dict[str, Any]


class Show(Struct, frozen=True, tag_field="t", tag="show"):
    """`seq` is the number of the output mark where this belongs."""

    seq: int
    kind: str
    text: str = ""
    value: Any = None
    data: str = ""
    mime: str = ""


class StatusMessage(Struct, frozen=True, tag_field="t", tag="status"):
    event: dict[str, Any]


class CellBegun(Struct, frozen=True, tag_field="t", tag="begun"):
    """From now on, an interrupt reaches the cell."""

    id: int


class CellDone(Struct, frozen=True, tag_field="t", tag="done"):
    id: int
    seq: int
    status: Literal["ok", "error", "interrupted"]
    exit: int
    stdin: bool = False


class Pong(Struct, frozen=True, tag_field="t", tag="pong"):
    id: int


KernelMessage: TypeAlias = KernelReady | HostCall | Show | StatusMessage | CellBegun | CellDone | Pong
_DECODER: msgspec.json.Decoder[KernelMessage] = msgspec.json.Decoder(cast(Any, KernelMessage))


class Channel(asyncio.Protocol):
    """Passes each message to `take`; calls `lost` once when the other side closes."""

    def __init__(
        self, take: Callable[[KernelMessage], None], lost: Callable[[], None], ours: socket.socket
    ) -> None:
        self._take = take
        self._lost = lost
        self._rest = bytearray()
        self._transport: asyncio.WriteTransport | None = None
        self._socket = ours

    @classmethod
    async def connect(
        cls, ours: socket.socket, take: Callable[[KernelMessage], None], lost: Callable[[], None]
    ) -> "Channel":
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_unix_connection(partial(cls, take, lost, ours), sock=ours)
        return channel

    @property
    def peer_closed(self) -> bool:
        """Whether the other side has closed and everything it sent was read, even if `lost` comes later."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if b"\n" not in data:
            if len(self._rest) > MAX_LINE_BYTES:
                log.warning("A kernel sent an oversized message; ending it.")
                self.close()
            return
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            try:
                message = _DECODER.decode(line)
            except msgspec.MsgspecError as error:
                log.error("A kernel sent a malformed message.", error)
                continue
            self._take(message)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()

    def send(self, kind: str, **fields: object) -> None:
        """Raises TypeError for values that JSON cannot represent."""
        line = msgspec.json.encode({"t": kind, **fields}) + b"\n"
        if self._transport is not None and not self._transport.is_closing():
            with suppress(OSError):
                self._transport.write(line)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Marks:
    """A mark is NUL, the kernel's secret, a number in hexadecimal digits, NUL; it may arrive in pieces."""

    def __init__(self, secret: str) -> None:
        self._start = b"\0" + secret.encode()
        self._length = len(self._start) + SEQUENCE_DIGITS + 1
        self._held = b""

    def split(self, data: bytes) -> Iterator[bytes | int]:
        """Yield output chunks and mark numbers in order. A partial mark is held back."""
        data = self._held + data
        self._held = b""
        while data:
            place = data.find(b"\0")
            while place >= 0 and not self._start.startswith(data[place : place + len(self._start)]):
                place = data.find(b"\0", place + 1)
            if place < 0:
                yield data
                return
            if place:
                yield data[:place]
            if len(data) - place < self._length:
                self._held = data[place:]
                return
            yield int(data[place + len(self._start) : place + self._length - 1], 16)
            data = data[place + self._length :]
