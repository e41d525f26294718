"""Where a session's lines are kept: in a file with one writer, or in memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec.json import Decoder

from tau.base.errors import SessionError
from tau.base.files import try_lock, unlock
from tau.base.jsonl import JsonlFile, Scan
from tau.base.sizes import KIB

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_AHEAD_BYTES = 256 * KIB
_GENERATION = 1 << 40  # addresses of one file; what took its place has the next ones


class SessionLocked(SessionError):
    """Another process writes this session."""


class EntryRecords(Protocol[T_co]):
    """What one pass over the lines finds: each record with its address and size, then what is wrong."""

    damaged: list[int]
    torn: bytes
    strange: int

    def __iter__(self) -> Iterator[tuple[T_co, int, int]]: ...


class Storage(Protocol):
    """Lines, found again by the address at which they were put. Addresses grow."""

    def lock(self) -> None:
        """Become the one writer until `close`; raises SessionLocked."""

    def append(self, lines: Sequence[bytes], *, begin: bool = True) -> int:
        """Add all lines or none; the address of the first. With `begin` they last from then on."""

    def read(self, start: int, size: int) -> bytes:
        """The bytes at an address; fewer if they are no longer there."""

    def scan(self, decoder: Decoder[T]) -> EntryRecords[T]: ...

    def close(self) -> None:
        """Give up the file and its lock. Reading goes on to work."""


class FileStorage:
    """A file of JSON lines. A new one is not made before there is something that is worth it (`begin`)."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path
        self._begun = not new
        self._file: JsonlFile | None = None
        self._held: dict[int, bytes] = {}  # lines that wait for the file to begin
        self._held_bytes = 0
        self._fds: list[int] = []  # one for each generation of the file, to read from
        self._window = (0, b"")  # the bytes at an address that were read last

    @property
    def torn(self) -> bytes:
        """What was moved aside when the file was locked."""
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
        """Open the file to read only: anybody may write it meanwhile."""
        self._fds.append(os.open(self.path, os.O_RDONLY | os.O_CLOEXEC))

    def is_written_to(self) -> bool:
        """Whether another process has the lock at this moment."""
        if not self._fds:
            return False
        if try_lock(self._fds[-1]):
            unlock(self._fds[-1])
            return False
        return True

    def append(self, lines: Sequence[bytes], *, begin: bool = True) -> int:
        if not begin and not self._begun:
            return self._hold(lines)
        self.lock()
        assert self._file is not None
        start = self._file.append(*self._held.values(), *lines) + self._held_bytes
        self._held, self._held_bytes = {}, 0
        self._begun = True
        if self._file.generation == len(self._fds):
            self._keep_open(self._file)
        return start + self._file.generation * _GENERATION

    def read(self, start: int, size: int) -> bytes:
        if start in self._held:
            return self._held[start]
        begin, window = self._window
        at = start - begin
        if at >= 0 and at + size <= len(window):
            return window[at : at + size]
        # Who reads on in the order of the file gets the next lines with it; who looks around does not.
        ahead = 0 <= at <= len(window) + _AHEAD_BYTES
        data = self._pread(start, max(size, _AHEAD_BYTES) if ahead else size)
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
            with suppress(OSError):  # an empty file is what a full disk leaves of a new session
                if not self._begun and os.fstat(file.fileno()).st_size == 0:
                    self.path.unlink()
            file.close()

    def _hold(self, lines: Sequence[bytes]) -> int:
        start = self._held_bytes
        for line in lines:
            self._held[self._held_bytes] = line
            self._held_bytes += len(line) + 1
        return start

    def _keep_open(self, file: JsonlFile) -> None:
        """What we have read and written stays readable when the file is deleted or replaced."""
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
    """Lines that end with the process."""

    def __init__(self, lines: Sequence[bytes] = ()) -> None:
        self._lines: dict[int, bytes] = {}
        self._end = 0
        self.append(lines)

    def lock(self) -> None:
        """Nobody else can reach them."""

    def append(self, lines: Sequence[bytes], *, begin: bool = True) -> int:
        start = self._end
        for line in lines:
            self._lines[self._end] = line
            self._end += len(line) + 1
        return start

    def read(self, start: int, size: int) -> bytes:
        return self._lines.get(start, b"")[:size]

    def scan(self, decoder: Decoder[T]) -> "_MemoryScan[T]":
        return _MemoryScan(self._lines, decoder)

    def close(self) -> None:
        """Nothing to give back."""


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
