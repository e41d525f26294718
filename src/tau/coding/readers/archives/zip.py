"""Zip archives: list entries, read one, replace one."""

import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

from msgspec import Struct

from tau.base.errors import ToolError
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

_STEP = 64 * 1024
_SMALL_STEP = 4 * 1024  # bzip2 and LZMA decompress all of their input at once
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_LOCATOR_BYTES = 20
_MAX_PLAIN = 0xFFFF
_ELSEWHERE = 0xFFFFFFFF
_NOT_A_ZIP = "it has no zip directory"


class _Directory(Struct, frozen=True):
    """The location of the central directory; `shift` is added to its offsets."""

    start: int
    end: int
    shift: int
    comment: bytes
    wide: bool


class _Record(Struct, frozen=True):
    """One entry: its raw central record, and the range of its local header and data."""

    raw: bytes
    start: int
    end: int


def index_zip(data: bytes, name: str, limits: ArchiveLimits) -> ArchiveIndex:
    with _opened(data, name, limits) as archive:
        infos = archive.infolist()
        return make_index(((info.filename, _entry(info, at)) for at, info in enumerate(infos)), limits)


def read_zip(data: bytes, name: str, entry: ArchiveMember, limits: ArchiveLimits, stop: StopSignal) -> bytes:
    """Return the content of a file entry within the limits. Raises ToolError."""
    with _opened(data, name, limits) as archive:
        info = archive.infolist()[entry.position]
        limits.check_unpacking(f"{name}:{entry.path}", info.file_size, info.compress_size)
        step = _SMALL_STEP if info.compress_type in (ZIP_BZIP2, ZIP_LZMA) else _STEP
        content = bytearray()
        with archive.open(info) as stream:
            while piece := stream.read(step):
                stop.check()
                content += piece
                if len(content) > limits.entry_bytes:
                    raise ToolError(f"{name}:{entry.path} is larger than the archive says; it was not read.")
        return bytes(content)


def put_zip(data: bytes | None, name: str, path: str, content: bytes, limits: ArchiveLimits) -> bytes:
    """Return the archive with one file added or replaced. All other entries keep every packed byte."""
    if data is None:
        return _alone(ZipInfo(path), content, None)
    with _opened(data, name, limits) as archive:
        infos = archive.infolist()
        directory = _directory(data)
        records = _records(data, directory, len(infos))
        same = [at for at, info in enumerate(infos) if member_path(info.filename) == path]
        old = infos[same[-1]] if same else None
        new = _alone(ZipInfo(old.orig_filename if old is not None else path), content, old)
        return _rewritten(data, directory, records, same, new)


def _entry(info: ZipInfo, position: int) -> ArchiveMember:
    mode = info.external_attr >> 16
    kind: MemberKind = "folder" if info.is_dir() or info.filename.endswith("\\") else "file"
    if info.create_system == 3 and stat.S_IFMT(mode) and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "symlink" if stat.S_ISLNK(mode) else "device"
    return ArchiveMember(
        path=member_path(info.filename),
        position=position,
        kind=kind,
        size=info.file_size,
        encrypted=bool(info.flag_bits & 1),
    )


@contextmanager
def _opened(data: bytes, name: str, limits: ArchiveLimits) -> Iterator[ZipFile]:
    with explain_parse_errors(name):
        directory = _directory(data)
        # The library creates an object per record before they can be counted.
        if data.count(b"PK\1\2", directory.start, directory.end) > limits.entries:
            raise too_many(limits)
        with ZipFile(BytesIO(data)) as archive:
            yield archive


def _directory(data: bytes) -> _Directory:
    at = data.rfind(b"PK\5\6", max(len(data) - _END.size - _MAX_PLAIN, 0))
    if at < 0 or at + _END.size > len(data):
        raise ValueError(_NOT_A_ZIP)
    size, offset, comment_size = _numbers(_END, data, at)[4:]
    comment = data[at + _END.size : at + _END.size + comment_size]
    end, wide = at, False
    before = at - _LOCATOR_BYTES
    if before >= _END64.size and data.startswith(b"PK\6\7", before):
        end, wide = before - _END64.size, True
        size, offset = _numbers(_END64, data, end)[7:]
        if not data.startswith(b"PK\6\6", end):
            raise ValueError(_NOT_A_ZIP)
    start = end - size
    if start < 0:
        raise ValueError("its directory is larger than the file")
    return _Directory(start, end, start - offset, comment, wide)


def _numbers(layout: struct.Struct, data: bytes, at: int) -> tuple[int, ...]:
    """Unpack the fields of a record after its signature."""
    return layout.unpack_from(data, at)[1:]


def _records(data: bytes, directory: _Directory, count: int) -> list[_Record]:
    """List the raw entries in directory order. Raises ToolError if they cannot be moved safely."""
    at, found = directory.start, []
    for _ in range(count):
        fields = _numbers(_CENTRAL, data, at)
        length = _CENTRAL.size + sum(fields[9:12])
        if fields[15] == _ELSEWHERE:
            raise ToolError("The archive uses offsets of more than 4 GiB; it cannot be rewritten here.")
        found.append((data[at : at + length], fields[15] + directory.shift, fields[7]))
        at += length
    starts = sorted({start for _, start, _ in found})
    ends = dict(zip(starts, [*starts[1:], directory.start], strict=True))
    if len(starts) < len(found):
        raise ToolError("Entries of the archive share their data, as in an archive bomb; it was not changed.")
    records = []
    for raw, start, packed in found:
        local = _numbers(_LOCAL, data, start)
        if not data.startswith(b"PK\3\4", start):
            raise ValueError("an entry is not where the directory says")
        if packed != _ELSEWHERE and start + _LOCAL.size + sum(local[8:]) + packed > ends[start]:
            raise ToolError("Entries of the archive overlap, as in an archive bomb; it was not changed.")
        records.append(_Record(raw, start, ends[start]))
    return records


def _alone(info: ZipInfo, content: bytes, old: ZipInfo | None) -> bytes:
    """Return a zip archive with only this file, keeping the old entry's mode, comment and compression."""
    info.date_time = max(time.localtime()[:6], (1980, 1, 1, 0, 0, 0))
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.create_system = 3
    info.compress_type = ZIP_DEFLATED
    if old is not None:
        info.external_attr, info.create_system = old.external_attr, old.create_system
        info.internal_attr, info.comment = old.internal_attr, old.comment
        info.compress_type = ZIP_STORED if old.compress_type == ZIP_STORED else ZIP_DEFLATED
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(info, content)
    return buffer.getvalue()


def _rewritten(
    data: bytes, directory: _Directory, records: list[_Record], same: list[int], new: bytes
) -> bytes:
    added = _directory(new)
    fresh = _Record(new[added.start : added.end], 0, added.start)
    first = min((record.start for record in records), default=directory.start)
    pieces = [data[:first]]
    length = first
    moved: dict[int, int] = {}
    order = sorted(range(len(records)), key=lambda at: records[at].start)
    for at in [*order, *([] if same else [len(records)])]:
        if at in same[:-1]:
            continue
        replaced = at == len(records) or at in same
        piece = new[: fresh.end] if replaced else data[records[at].start : records[at].end]
        moved[at] = length
        pieces.append(piece)
        length += len(piece)
    if len(moved) > _MAX_PLAIN - 1 or length > _ELSEWHERE - 1:
        raise ToolError(f"An archive with more than {_MAX_PLAIN - 1:,} entries cannot be rewritten here.")
    start = length
    for at in sorted(moved):
        raw = fresh.raw if at == len(records) or at in same else records[at].raw
        fields = list(_CENTRAL.unpack_from(raw))
        fields[16] = moved[at] - directory.shift
        record = _CENTRAL.pack(*fields) + raw[_CENTRAL.size :]
        pieces.append(record)
        length += len(record)
    counts = (len(moved), len(moved), length - start, start - directory.shift, len(directory.comment))
    pieces.append(_END.pack(b"PK\5\6", 0, 0, *counts) + directory.comment)
    return b"".join(pieces)
