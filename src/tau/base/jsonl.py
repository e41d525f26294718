"""Append-only files of JSON lines that survive crashes, full disks and other people's editors."""

import errno
import os
from codecs import BOM_UTF8
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Raw, Struct
from msgspec.json import Decoder

from tau.base.files import make_private, sync_file, sync_folder, try_lock, unlock, write_all
from tau.base.sizes import KIB

_BLOCK_BYTES = 64 * KIB
_SPACE = b" \t\r"
_PADDING = _SPACE + b"\0"
_any_json = Decoder(Raw)  # checks the syntax without building anything: about 2 GB/s


class JsonLines(Struct, frozen=True):
    """The records of a file, and what is wrong with it: nothing of that is ever deleted by reading.

    `damaged` holds the numbers (from 1) of lines from which something was left out because it is no JSON
    object; `torn` the bytes of a last line that was never finished.
    """

    lines: list[bytes]
    damaged: tuple[int, ...] = ()
    torn: bytes = b""


def read_jsonl(path: Path) -> JsonLines:
    """Every complete record as raw bytes. Only a newline byte ends a line; empty lines do not count."""
    data = path.read_bytes().removeprefix(BOM_UTF8)
    ascii_only = data.isascii()
    lines = data.split(b"\n")
    last = lines.pop()
    good: list[bytes] = []
    damaged: list[int] = []
    for number, line in enumerate(lines, 1):
        record, rest = _record_in(line, ascii_only)
        if record:
            good.append(record)
        if rest:
            damaged.append(number)
    record, torn = _record_in(last, ascii_only)
    if record:
        good.append(record)
    return JsonLines(good, tuple(damaged), torn)


def repair(path: Path) -> bytes:
    """Make the file end with a complete line, and return the bytes that were moved to `<name>.torn` for it.

    Does nothing while another process has the file locked: its last line is then being written, not torn.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return _repair(fd, path) if try_lock(fd) else b""
    finally:
        unlock(fd)
        os.close(fd)


class JsonlFile:
    """One file open for appending, made with its folder at the first use.

    `append` returns when the lines are in the file; when it raises, none of them is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = b""  # what the last repair moved aside
        self._fd = -1
        self._locked = False
        self._whole = False  # the file is known to end with a newline

    def lock(self) -> bool:
        """Become the one writer until `close`; False if another one is at work. Makes the file."""
        self._open()
        self._locked = self._locked or try_lock(self._fd)
        if self._locked:
            self._make_whole()
        return self._locked

    def append(self, *lines: bytes, sync: bool = True) -> None:
        """Add lines, given without their newline, in one write; with `sync` they are on the disk then."""
        if any(b"\n" in line for line in lines):
            raise ValueError("A line of a JSONL file cannot contain a newline")
        if not lines:
            return
        data = memoryview(b"\n".join((*lines, b"")))
        self._open()
        self._make_whole()
        start = os.fstat(self._fd).st_size
        done = 0
        try:
            while done < len(data):
                done += os.write(self._fd, data[done:])
            if sync:
                _sync_data(self._fd)
                if start == 0:
                    sync_folder(self.path.parent)
        except BaseException as failure:
            self._take_back(start, done)
            if isinstance(failure, OSError):
                failure.filename = str(self.path)
            raise

    def close(self) -> None:
        """Give up the file and its lock; a later `append` opens it again."""
        fd, self._fd = self._fd, -1
        self._locked = self._whole = False
        if fd >= 0:
            unlock(fd)
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        if self._fd < 0:
            self._fd = _open_for_append(self.path)
        elif os.fstat(self._fd).st_nlink == 0:
            self._follow_replacement()

    def _follow_replacement(self) -> None:
        """The file was deleted or replaced under us: go on in the one that has its name now.

        If there is none, the content we still hold comes back: a log without its beginning is of no use.
        """
        fd = _open_for_append(self.path)
        try:
            if os.fstat(fd).st_size == 0:
                _copy(self._fd, fd)
            if self._locked and not try_lock(fd):
                raise BlockingIOError(errno.EWOULDBLOCK, "Another process writes this file", str(self.path))
        except BaseException:
            os.close(fd)
            raise
        os.close(self._fd)
        self._fd = fd
        self._whole = False

    def _make_whole(self) -> None:
        if self._whole:
            return
        if self._locked:
            self.torn = _repair(self._fd, self.path)
        elif try_lock(self._fd):
            try:
                self.torn = _repair(self._fd, self.path)
            finally:
                unlock(self._fd)
        self._whole = True

    def _take_back(self, start: int, done: int) -> None:
        """Remove a part of a record that could not be finished, unless somebody has appended after it."""
        self._whole = False  # if this fails too, the next append tries again
        with suppress(OSError):
            if done and os.fstat(self._fd).st_size == start + done:
                os.ftruncate(self._fd, start)


def _record_in(line: bytes, ascii_only: bool = False) -> tuple[bytes, bytes]:
    """The JSON object in a line and what else stands there: zeros that a crash left, or what is no object."""
    record = line.strip(_PADDING)
    if record.startswith(b"{"):
        try:
            _any_json.decode(record)
            if not ascii_only:
                record.decode()
        except (ValueError, RecursionError):
            return b"", line
        return record, b"" if len(record) == len(line) else line.replace(record, b"", 1).strip(_SPACE)
    return b"", b"" if not line.strip(_SPACE) else line


def _open_for_append(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_private(path.parent)
        return os.open(path, flags, 0o600)


def _repair(fd: int, path: Path) -> bytes:
    size = os.fstat(fd).st_size
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return b""
    tail = _after_last_newline(fd, size)
    record, rest = _record_in(tail.removeprefix(BOM_UTF8) if len(tail) == size else tail)
    if record == tail:
        write_all(fd, b"\n")
    else:
        if tail.strip(_PADDING):
            _set_aside(path.with_name(path.name + ".torn"), tail.strip(b"\0"))
        os.ftruncate(fd, size - len(tail))
        if record:
            write_all(fd, record + b"\n")
    sync_file(fd)
    return rest


def _after_last_newline(fd: int, size: int) -> bytes:
    blocks: list[bytes] = []
    position = size
    while position:
        position -= (step := min(_BLOCK_BYTES, position))
        block = os.pread(fd, step, position)
        found = block.rfind(b"\n")
        blocks.append(block[found + 1 :])
        if found >= 0:
            break
    return b"".join(reversed(blocks))


def _set_aside(path: Path, torn: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, torn + b"\n")
        sync_file(fd)
    finally:
        os.close(fd)


def _copy(source: int, target: int) -> None:
    position = 0
    try:
        while block := os.pread(source, _BLOCK_BYTES, position):
            write_all(target, block)
            position += len(block)
    except BaseException:
        os.ftruncate(target, 0)
        raise


def _sync_data(fd: int) -> None:
    if hasattr(os, "fdatasync"):
        try:
            os.fdatasync(fd)
            return
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    sync_file(fd)
