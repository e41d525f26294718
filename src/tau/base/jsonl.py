"""Append-only files of JSON lines that survive crashes, full disks and manual edits."""

import errno
import os
import re
from codecs import BOM_UTF8, utf_8_decode
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, starmap
from pathlib import Path
from typing import Generic, Self, TypeVar

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from tau.base.files import make_private, sync_file, sync_folder, try_lock, unlock, write_all
from tau.base.sizes import KIB

T = TypeVar("T")

_BLOCK_BYTES = 64 * KIB
_SCAN_BYTES = 512 * KIB  # blocks that fit the CPU cache are split and decoded fastest
_OBJECT = ord("{")
_SPACE = b" \t\r"
_PADDING = _SPACE + b"\0"
# Escapes in a JSON string; the group matches lone surrogates.
_ESCAPES = r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(\\u[dD][89a-fA-F]\w\w)|\\."
_any_json = Decoder(Raw)  # checks the syntax without building anything: about 2 GB/s


def decode_json(decoder: Decoder[T], data: bytes | str) -> T:
    """Decode what a program sent. Half a character, which JavaScript can send, becomes U+FFFD."""
    try:
        return decoder.decode(data)
    except DecodeError:
        text = data if isinstance(data, str) else data.decode()
        return decoder.decode(re.sub(_ESCAPES, lambda found: r"\ufffd" if found[1] else found[0], text))


class JsonLines(Struct, frozen=True):
    """The records of a file, and its damage; reading never deletes anything.

    `damaged` has the 1-based numbers of lines where something other than a JSON object was skipped, `torn`
    the bytes of an unfinished last line.
    """

    lines: list[bytes]
    damaged: tuple[int, ...] = ()
    torn: bytes = b""


def read_jsonl(path: Path) -> JsonLines:
    """Read all complete records as raw bytes. Only a newline byte ends a line; empty lines are skipped."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        scan = Scan(fd, _any_json)
        lines = [bytes(record) for record, _, _ in scan]
    finally:
        os.close(fd)
    return JsonLines(lines, tuple(scan.damaged), scan.torn)


class Scan(Generic[T]):
    """One pass over the records of an open file: yields each decoded record with its offset and size.

    After the pass, `damaged` and `torn` are as in `JsonLines`, and `strange` counts JSON objects that the
    decoder rejected. Without `texts`, what the decoder skips is not checked for valid UTF-8, which saves a
    quarter of the time.
    """

    def __init__(self, fd: int, decoder: Decoder[T], *, texts: bool = True) -> None:
        self.damaged: list[int] = []
        self.torn = b""
        self.strange = 0
        self._fd = fd
        self._decoder = decoder
        self._texts = texts
        self._lines = 0

    def __iter__(self) -> Iterator[tuple[T, int, int]]:
        return chain.from_iterable(starmap(self._records, self._blocks()))

    def _blocks(self) -> Iterator[tuple[int, bytes, int]]:
        """Yield blocks of the file, and how much of each is whole lines; the last may lack its newline."""
        start, size = 0, _SCAN_BYTES
        while data := os.pread(self._fd, size, start):
            if cut := data.rfind(b"\n") + 1:
                yield start, data, cut
                start += cut  # the rest is read again: cheaper than joining it
                size = _SCAN_BYTES
            elif len(data) < size:
                yield start, data, len(data)
                return
            else:
                size *= 2

    def _records(self, start: int, data: bytes, cut: int) -> Iterator[tuple[T, int, int]]:
        """Decode a whole block at once if every line is one object, else line by line."""
        block = memoryview(data)[:cut]
        try:
            if self._texts and not data.isascii():
                utf_8_decode(block, "strict", True)
            values = self._decoder.decode_lines(block)
        except (ValueError, RecursionError):
            return self._one_by_one(start, data[:cut])
        # The decoder accepts two objects on one line and one on two lines; we do not.
        starts, sizes = _object_lines(start, data, cut)
        if len(starts) != len(values) or not starts:
            return self._one_by_one(start, data[:cut])
        self._lines += len(starts)
        return zip(values, starts, sizes, strict=True)

    def _one_by_one(self, start: int, block: bytes) -> Iterator[tuple[T, int, int]]:
        lines = block.split(b"\n")
        last = lines.pop()
        for line in lines:
            self._lines += 1
            yield from self._record(start, line, finished=True)
            start += len(line) + 1
        if last:
            yield from self._record(start, last, finished=False)

    def _record(self, start: int, line: bytes, *, finished: bool) -> Iterator[tuple[T, int, int]]:
        if start == 0 and line.startswith(BOM_UTF8):
            start, line = len(BOM_UTF8), line.removeprefix(BOM_UTF8)
        record, rest = _record_in(line, texts=self._texts)
        if rest and finished:
            self.damaged.append(self._lines)
        elif rest:
            self.torn = rest
        if not record:
            return
        try:
            value = self._decoder.decode(record)
        except ValueError:
            self.strange += 1
            return
        yield value, start + len(line) - len(line.lstrip(_PADDING)), len(record)


def repair(path: Path) -> bytes:
    """Make the file end with a complete line; returns the bytes that were moved to `<name>.torn`.

    Does nothing while another process has the file locked: its last line may be in the middle of a write.
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
    """A file open for appending; it and its folder are created on first use.

    `append` returns when the lines are in the file; if it raises, none of them is. `generation` counts how
    often we switched to another file because ours was deleted or replaced.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = b""  # what the last repair moved to `<name>.torn`
        self.generation = 0
        self._fd = -1
        self._locked = False
        self._ends_line = False  # the file is known to end with a newline

    def lock(self) -> bool:
        """Become the only writer until `close`; False if there is another. Creates the file."""
        self._open()
        self._locked = self._locked or try_lock(self._fd)
        if self._locked:
            self._end_line()
        return self._locked

    def fileno(self) -> int:
        """Return the open descriptor; -1 if there is none."""
        return self._fd

    def append(self, *lines: bytes, sync: bool = True) -> int:
        """Append lines (without newlines) in one write; returns their offset in the file.

        With `sync`, they are on disk when it returns.
        """
        if any(b"\n" in line for line in lines):
            raise ValueError("A JSONL record cannot contain a newline")
        if not lines:
            return 0
        data = memoryview(b"\n".join((*lines, b"")))
        self._open()
        self._end_line()
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
            self._undo_append(start, done)
            if isinstance(failure, OSError):
                failure.filename = str(self.path)
            raise
        # Not `start`: a writer that ignores our lock may have appended in between.
        return os.lseek(self._fd, 0, os.SEEK_CUR) - len(data)

    def close(self) -> None:
        """Release the file and its lock; a later `append` reopens it."""
        fd, self._fd = self._fd, -1
        self._locked = self._ends_line = False
        if fd != -1:
            unlock(fd)
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        if self._fd == -1:
            self._fd = _open_for_append(self.path)
        elif os.fstat(self._fd).st_nlink == 0:
            self._follow_replacement()

    def _follow_replacement(self) -> None:
        """Switch to the file that now has our path, because ours was deleted or replaced.

        If there is none, restore our content: a log without its beginning is useless.
        """
        fd = _open_for_append(self.path)
        try:
            if os.fstat(fd).st_size == 0:
                _copy(self._fd, fd)
            if self._locked and not try_lock(fd):
                raise BlockingIOError(
                    errno.EWOULDBLOCK, "Another process is writing this file", str(self.path)
                )
        except BaseException:
            os.close(fd)
            raise
        os.close(self._fd)
        self._fd = fd
        self._ends_line = False
        self.generation += 1

    def _end_line(self) -> None:
        if self._ends_line:
            return
        if self._locked:
            self.torn = _repair(self._fd, self.path)
        elif try_lock(self._fd):
            try:
                self.torn = _repair(self._fd, self.path)
            finally:
                unlock(self._fd)
        self._ends_line = True

    def _undo_append(self, start: int, done: int) -> None:
        """Remove a partial record, unless another writer appended after it."""
        self._ends_line = False  # if this fails too, the next append tries again
        with suppress(OSError):
            if done and os.fstat(self._fd).st_size == start + done:
                os.ftruncate(self._fd, start)


def _object_lines(start: int, data: bytes, cut: int) -> tuple[list[int], list[int]]:
    """Return the offsets and lengths of the lines; empty if any does not begin with an object."""
    starts: list[int] = []
    sizes: list[int] = []
    begin, find = 0, data.find
    while (end := find(b"\n", begin)) >= 0:
        if data[begin] != _OBJECT:
            return [], []
        starts.append(start + begin)
        sizes.append(end - begin)
        begin = end + 1
    return (starts, sizes) if begin == cut else ([], [])


def _record_in(line: bytes, *, texts: bool = True) -> tuple[bytes, bytes]:
    """Return the JSON object in a line, and the rest: zeros left by a crash, or invalid text."""
    record = line.strip(_PADDING)
    if record.startswith(b"{"):
        try:
            _any_json.decode(record)
            if texts:
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
            _save_torn(path.with_name(path.name + ".torn"), tail.strip(b"\0"))
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
        newline = block.rfind(b"\n")
        blocks.append(block[newline + 1 :])
        if newline >= 0:
            break
    return b"".join(reversed(blocks))


def _save_torn(path: Path, torn: bytes) -> None:
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
