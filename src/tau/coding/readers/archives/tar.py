"""Tar archives, plain and gzipped: list entries, read one, replace one."""

import gzip
import io
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO, cast

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.sizes import format_bytes
from tau.base.threads import StopSignal
from tau.coding.readers.archives.index import (
    ArchiveIndex,
    ArchiveLimits,
    ArchiveMember,
    MemberKind,
    explain_parse_errors,
    make_index,
    member_path,
    too_many,
)

_GZIP_MARK = b"\x1f\x8b"
_STEP = 64 * 1024
_MAX_READ = 1024 * 1024  # headers are read whole, so none may be longer
_BLOCK = 512
_RECORD = 20 * _BLOCK


class _Member(Struct, frozen=True):
    """An entry and its byte range: `start` is that of its first header."""

    info: tarfile.TarInfo
    position: int
    start: int
    end: int


class _PlainSource(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        _check_read(size)
        return super().read(size)


class _GzipSource:
    """Decompresses on the fly and buffers only the most recent bytes; seeking back further is an error."""

    def __init__(self, data: bytes, name: str, limits: ArchiveLimits, stop: StopSignal) -> None:
        self._data, self._name, self._limits, self._stop = data, name, limits, stop
        self._decoder = zlib.decompressobj(31)
        self._taken = 0  # packed bytes fed to the decoder
        self._kept = bytearray()
        self._kept_from = 0
        self._at = 0

    def tell(self) -> int:
        return self._at

    def seek(self, position: int, whence: int = 0) -> int:
        while whence == 0 and self._kept_from + len(self._kept) < position and self._unpack():
            if len(self._kept) > 2 * _STEP:
                self._drop(min(self._kept_from + len(self._kept) - _STEP, position))
        if whence != 0 or position < self._kept_from:
            raise tarfile.ReadError("entries are out of order")
        self._at = position
        return position

    def read(self, size: int = -1) -> bytes:
        _check_read(size)
        while self._kept_from + len(self._kept) < self._at + size and self._unpack():
            pass
        start = self._at - self._kept_from
        piece = bytes(self._kept[start : start + size])
        self._at += len(piece)
        if len(self._kept) > 4 * _STEP:
            self._drop(self._at - _STEP)
        return piece

    def _drop(self, before: int) -> None:
        if before > self._kept_from:
            del self._kept[: before - self._kept_from]
            self._kept_from = before

    def _unpack(self) -> bool:
        """Decompress the next chunk; False at the end."""
        self._stop.check()
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data
                start = self._taken - len(rest)
                if not self._data.startswith(_GZIP_MARK, start):
                    return False
                self._decoder, self._taken = zlib.decompressobj(31), start
            packed = self._decoder.unconsumed_tail
            if not packed:
                packed = self._data[self._taken : self._taken + _STEP]
                self._taken += len(packed)
            piece = self._decoder.decompress(packed, _STEP)
            if piece:
                self._kept += piece
                self._check_size()
                return True
            if not packed and not self._decoder.eof:
                raise EOFError("it is truncated")

    def _check_size(self) -> None:
        unpacked = self._kept_from + len(self._kept)
        self._limits.check_unpacking(
            self._name,
            unpacked,
            self._taken - len(self._decoder.unconsumed_tail) - len(self._decoder.unused_data),
        )
        if unpacked > self._limits.unpacked_bytes:
            limit = format_bytes(self._limits.unpacked_bytes)
            raise ToolError(f"{self._name} unpacks to more than {limit}, which is the limit; use tar itself.")


def is_gzip(data: bytes) -> bool:
    return data.startswith(_GZIP_MARK)


def index_tar(data: bytes, name: str, limits: ArchiveLimits, stop: StopSignal) -> ArchiveIndex:
    with explain_parse_errors(name):
        end = 0
        found: list[tuple[str, ArchiveMember]] = []
        source = _source(data, name, limits, stop)
        for member in _members(source, limits):
            found.append((member.info.name, _entry(member)))
            end = member.end
        remark = (
            "" if _ends_properly(source, end) else "The archive is damaged after the last of these entries."
        )
        return make_index(found, limits, remark)


def read_tar(data: bytes, name: str, entry: ArchiveMember, limits: ArchiveLimits, stop: StopSignal) -> bytes:
    """Return the content of a file entry within the limits. Raises ToolError."""
    with explain_parse_errors(name):
        source = _source(data, name, limits, stop)
        with closing(tarfile.open(fileobj=source, mode="r:")) as archive:
            member = next(_iterate(archive, limits, entry.position), None)
            stream = None if member is None else archive.extractfile(member.info)
            if stream is None:
                raise ValueError("the entry is gone")
            content = bytearray()
            with stream:
                while piece := stream.read(_STEP):
                    stop.check()
                    content += piece
                    if len(content) > limits.entry_bytes:
                        raise ToolError(f"{name}:{entry.path} is larger than the archive says.")
            if len(content) < entry.size:
                raise EOFError("it is truncated within the entry")
            return bytes(content)


def put_tar(
    data: bytes, name: str, path: str, content: bytes, limits: ArchiveLimits, stop: StopSignal
) -> bytes:
    """Return the archive with one file added or replaced. All other entries keep every byte, unpacked."""
    with explain_parse_errors(name):
        if not is_gzip(data):
            return _replaced(data, name, path, content, limits, stop)
        plain = _unpacked(data, name, limits, stop)
        changed = _replaced(plain, name, path, content, limits, stop)
        return gzip.compress(changed, 6, mtime=int.from_bytes(data[4:8], "little"))


def new_tar(path: str, content: bytes, *, packed: bool) -> bytes:
    """Return an archive with one file."""
    plain = _pad(_header(path, None, len(content)) + _blocks(content), 0, _RECORD)
    return gzip.compress(plain, 6) if packed else plain


def _check_read(size: int | None) -> None:
    if size is None or size < 0 or size > _MAX_READ:
        raise ToolError("The archive has a header that is larger than any real one; it was not read.")


def _source(data: bytes, name: str, limits: ArchiveLimits, stop: StopSignal) -> IO[bytes]:
    if not is_gzip(data):
        return _PlainSource(data)
    return cast(IO[bytes], _GzipSource(data, name, limits, stop))  # implements what the library needs


def _members(source: IO[bytes], limits: ArchiveLimits) -> Iterator[_Member]:
    with closing(tarfile.open(fileobj=source, mode="r:")) as archive:
        yield from _iterate(archive, limits)


def _iterate(archive: tarfile.TarFile, limits: ArchiveLimits, first: int = 0) -> Iterator[_Member]:
    for position in range(limits.entries + 1):
        info = archive.next()
        if info is None:
            return
        archive.members = []  # type: ignore[attr-defined]  # the library keeps every member, we count
        if position >= first:
            yield _Member(info, position, info.offset, archive.offset)
    raise too_many(limits)


def _entry(member: _Member) -> ArchiveMember:
    info = member.info
    kind: MemberKind = "device"
    if info.isreg():
        kind = "file"
    elif info.isdir():
        kind = "folder"
    elif info.issym() or info.islnk():
        kind = "symlink" if info.issym() else "hardlink"
    return ArchiveMember(
        path=member_path(_printable(info.name)),
        position=member.position,
        kind=kind,
        size=info.size if kind == "file" else 0,
        target=_printable(info.linkname),
    )


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ends_properly(source: IO[bytes], end: int) -> bool:
    """Whether the archive ends with zeros or nothing; the library also stops at a broken header."""
    source.seek(end)
    return not source.read(_BLOCK).strip(b"\0")


def _unpacked(data: bytes, name: str, limits: ArchiveLimits, stop: StopSignal) -> bytes:
    source = _GzipSource(data, name, limits, stop)
    plain = bytearray()
    while piece := source.read(_STEP):
        plain += piece
        if len(plain) > limits.rewritten_bytes:
            limit = format_bytes(limits.rewritten_bytes)
            raise ToolError(f"{name} unpacks to more than {limit}; it is too large to be rewritten here.")
    return bytes(plain)


def _replaced(
    data: bytes, name: str, path: str, content: bytes, limits: ArchiveLimits, stop: StopSignal
) -> bytes:
    members = list(_members(_PlainSource(data), limits))
    stop.check()
    end = members[-1].end if members else 0
    if data[end : end + _BLOCK].strip(b"\0"):
        raise ToolError(f"{name} is damaged after its last entry; it was not changed.")
    same = [member for member in members if member_path(_printable(member.info.name)) == path]
    old = same[-1] if same else None
    fresh = _header(path, None if old is None else old.info, len(content)) + _blocks(content)
    pieces, at = [], 0
    for member in same:
        pieces += [data[at : member.start], fresh if member is old else b""]
        at = member.end
    pieces.append(data[at:end])
    if old is None:
        pieces.append(fresh)
    return _pad(b"".join(pieces), len(data) - end, _RECORD if len(data) % _RECORD == 0 else _BLOCK)


def _header(path: str, old: tarfile.TarInfo | None, size: int) -> bytes:
    info = tarfile.TarInfo(path if old is None else old.name)
    info.mode, info.mtime, info.size = 0o644, int(time.time()), size
    if old is not None:
        info.mode, info.uid, info.gid = old.mode, old.uid, old.gid
        info.uname, info.gname = old.uname, old.gname
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _blocks(content: bytes) -> bytes:
    return content + bytes(-len(content) % _BLOCK)


def _pad(entries: bytes, closing_bytes: int, unit: int) -> bytes:
    """Append the closing zeros: as many as before, at least two blocks, in whole units."""
    length = len(entries) + max(2 * _BLOCK, closing_bytes if unit == _BLOCK else 0)
    return entries + bytes(length + -length % unit - len(entries))
