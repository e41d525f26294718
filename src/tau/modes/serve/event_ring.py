"""The latest events of a session, numbered, for readers that come and go."""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from tau.base.sizes import KIB, MIB

MAX_EVENTS = 10_000
MAX_BYTES = 16 * MIB
MAX_LAG_BYTES = 8 * MIB
_CHECK_BYTES = MIB  # of events between two looks for slow readers
_CHUNK_BYTES = 64 * KIB


class StreamReader:
    """One connection. `position` is the number of the event that it gets next."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.wake = asyncio.Event()
        self.ping = False
        self.ended = False
        self.on_cut: Callable[[], None] = lambda: None

    def end(self) -> None:
        self.ended = True
        self.wake.set()


class EventRing:
    """Holds events as server-sent events with ids `<epoch>-<n>`, from 1 on.

    Readers pull from it, so a slow one holds no memory; one that is too far behind is cut off and resumes.
    """

    def __init__(self) -> None:
        self.epoch = os.urandom(6).hex()
        self.readers: set[StreamReader] = set()
        self._frames: deque[bytes] = deque()
        self._first = 1  # the number of the oldest event
        self._bytes = 0
        self._unchecked_bytes = 0
        self._is_waking = False
        self._chunk: tuple[int, int, bytes] = (0, 0, b"")

    @property
    def next(self) -> int:
        return self._first + len(self._frames)

    @property
    def last_id(self) -> str:
        return f"{self.epoch}-{self.next - 1}"

    def append(self, line: bytes) -> None:
        """Add an event, one line of JSON."""
        frame = b"id: %b-%d\ndata: %b\n\n" % (self.epoch.encode(), self.next, line.rstrip(b"\n"))
        self._frames.append(frame)
        self._bytes += len(frame)
        while len(self._frames) > 1 and (len(self._frames) > MAX_EVENTS or self._bytes > MAX_BYTES):
            self._bytes -= len(self._frames.popleft())
            self._first += 1
        self._unchecked_bytes += len(frame)
        if self._unchecked_bytes > _CHECK_BYTES:
            self._unchecked_bytes = 0
            self._cut_slow_readers()
        if self.readers and not self._is_waking:
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake)

    def position_after(self, id: str) -> int | None:
        """Where a reader continues that has seen this event; None if it has missed some."""
        epoch, _, number = id.rpartition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > 18:
            return None
        position = int(number) + 1
        return position if self._first <= position <= self.next else None

    def take(self, reader: StreamReader) -> bytes | None:
        """The reader's next events, at most a chunk; nothing if it has all; None if it missed some."""
        if reader.position < self._first:
            return None
        if reader.position >= self.next:
            return b""
        start, end, data = self._chunk
        if start != reader.position or (end < self.next and len(data) < _CHUNK_BYTES):
            end, data = self._join(reader.position)
            self._chunk = (reader.position, end, data)  # most readers are at the same place
        reader.position = end
        return data

    def ping(self) -> None:
        for reader in self.readers:
            reader.ping = True
            reader.wake.set()

    def end(self) -> None:
        """End all connections."""
        for reader in self.readers:
            reader.end()

    def _join(self, position: int) -> tuple[int, bytes]:
        frames: list[bytes] = []
        size = 0
        at = position - self._first
        while at < len(self._frames) and size < _CHUNK_BYTES:
            frames.append(self._frames[at])
            size += len(frames[-1])
            at += 1
        return self._first + at, b"".join(frames)

    def _wake(self) -> None:
        self._is_waking = False
        for reader in self.readers:
            reader.wake.set()

    def _cut_slow_readers(self) -> None:
        oldest = self.next
        lag = 0
        for frame in reversed(self._frames):
            lag += len(frame)
            if lag > MAX_LAG_BYTES:
                break
            oldest -= 1
        for reader in [one for one in self.readers if one.position < oldest]:
            reader.on_cut()
