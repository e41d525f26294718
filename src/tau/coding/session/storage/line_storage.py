"""Storage for a session's lines: a file with one writer, or memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec.json import Decoder

from tau.base.errors import SessionError
from tau.base.files import is_locked
from tau.base.jsonl import JsonlFile, Scan
from tau.base.sizes import KIB

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_READ_AHEAD_BYTES = 256 * KIB
_GENERATION = 1 << 40  # addresses per file; a file that replaces it gets the next range


class SessionLocked(SessionError):
    """Another process is writing this session."""


class EntryRecords(Protocol[T_co]):
    """One pass over the lines: each record with its address and size, then the damage found."""

    damaged: list[int]
    torn: bytes
    strange: int

    def __iter__(self) -> Iterator[tuple[T_co, int, int]]: ...


class Storage(Protocol):
    """Lines by address. Addresses grow."""

    def lock(self) -> None:
        """Become the only writer until `close`; raises SessionLocked."""

    def append(self, lines: Sequence[bytes], *, durable: bool = True) -> int:
        """Append all lines or none; returns the address of the first. `durable` lines are on disk then."""

    def read(self, start: int, size: int) -> bytes:
        """The bytes at an address; fewer if they are gone."""

    def scan(self, decoder: Decoder[T]) -> EntryRecords[T]: ...

    def close(self) -> None:
        """Release the file and its lock. Reading still works."""


class FileStorage:
    """A file of JSON lines. A new file is created only with the first durable lines."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path
        self._created = not new
        self._file: JsonlFile | None = None
        self._held = MemoryStorage()  # lines waiting for the file to be created
        self._fds: list[int] = []  # one per generation of the file, for reading
        self._window = (0, b"")  # the bytes read last, with their address

    @property
    def torn(self) -> bytes:
        """The torn last line that was moved aside when the file was locked."""
        return b"" if self._file is None else self._file.torn

    def lock(self) -> None:
        if self._file is not None:
            return
        file = JsonlFile(self.path)
        try:
            if not file.lock():
                raise SessionLocked(
                    f"{self.path} is open in another tau; close it there, open it read-only, or fork it."
                )
        except BaseException:
            file.close()
            raise
        self._file = file
        self._keep_open(file)

    def open(self) -> None:
        """Open the file for reading only; other processes may write it."""
        self._fds.append(os.open(self.path, os.O_RDONLY | os.O_CLOEXEC))

    def is_written_to(self) -> bool:
        """Whether another process holds the lock now."""
        return bool(self._fds) and is_locked(self._fds[-1])

    def append(self, lines: Sequence[bytes], *, durable: bool = True) -> int:
        if not durable and not self._created:
            return self._held.append(lines)
        self.lock()
        assert self._file is not None
        start = self._file.append(*self._held.lines.values(), *lines) + self._held.end
        self._held = MemoryStorage()
        self._created = True
        if self._file.generation == len(self._fds):
            self._keep_open(self._file)
        return start + self._file.generation * _GENERATION

    def read(self, start: int, size: int) -> bytes:
        if start in self._held.lines:
            return self._held.lines[start]
        begin, window = self._window
        at = start - begin
        if at >= 0 and at + size <= len(window):
            return window[at : at + size]
        # Read ahead only if the reads are sequential.
        read_ahead = 0 <= at <= len(window) + _READ_AHEAD_BYTES
        data = self._pread(start, max(size, _READ_AHEAD_BYTES) if read_ahead else size)
        self._window = (start, data)
        return data[:size]

    def scan(self, decoder: Decoder[T]) -> Scan[T]:
        return Scan(self._fds[-1], decoder, texts=False)

    def close(self) -> None:
        file, self._file = self._file, None
        fds, self._fds = self._fds, []
        for fd in fds:
            os.close(fd)
        if file is not None:
            with suppress(OSError):  # a full disk leaves an empty file for a new session
                if not self._created and os.fstat(file.fileno()).st_size == 0:
                    self.path.unlink()
            file.close()

    def _keep_open(self, file: JsonlFile) -> None:
        """Keep what was read and written readable after the file is deleted or replaced."""
        self._fds.append(os.dup(file.fileno()))

    def _pread(self, start: int, size: int) -> bytes:
        generation, offset = divmod(start, _GENERATION)
        if generation < len(self._fds):
            return os.pread(self._fds[generation], size, offset)
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(fd, size, offset)
        finally:
            os.close(fd)


class MemoryStorage:
    """Lines that are lost when the process ends."""

    def __init__(self, lines: Sequence[bytes] = ()) -> None:
        self.lines: dict[int, bytes] = {}
        self.end = 0
        self.append(lines)

    def lock(self) -> None:
        """Nothing to do: no other process can reach the lines."""

    def append(self, lines: Sequence[bytes], *, durable: bool = True) -> int:
        start = self.end
        for line in lines:
            self.lines[self.end] = line
            self.end += len(line) + 1
        return start

    def read(self, start: int, size: int) -> bytes:
        return self.lines.get(start, b"")[:size]

    def scan(self, decoder: Decoder[T]) -> "_MemoryScan[T]":
        return _MemoryScan(self.lines, decoder)

    def close(self) -> None:
        """Nothing to release."""


class _MemoryScan(Generic[T]):
    def __init__(self, lines: dict[int, bytes], decoder: Decoder[T]) -> None:
        self.damaged: list[int] = []
        self.torn = b""
        self.strange = 0
        self._lines = lines
        self._decoder = decoder

    def __iter__(self) -> Iterator[tuple[T, int, int]]:
        for start, line in self._lines.items():
            try:
                value = self._decoder.decode(line)
            except ValueError:
                self.strange += 1
            else:
                yield value, start, len(line)
