"""Read git's index: the files in the work tree when git last checked, and their sizes."""

import os
import stat
from collections.abc import Collection, Iterator

from msgspec import Struct

_SIGNATURE = b"DIRC"
_HASH_BYTES = (20, 32)  # SHA-1, SHA-256
_STAT_BYTES = 40
_EXTENDED = 0x4000
_NAME_BYTES = 0x0FFF
_VALID, _STAGE = 0x8000, 0x3000
_SUBMODULE = 0o160000
_LOW = 0xFFFF_FFFF  # the index stores only these bits of a number
_NS = 1_000_000_000


class TrackedFile(Struct, frozen=True, gc=False):
    """A file in the index. `looks` holds its stat: change times, inode, owner, size."""

    name: bytes
    mode: int
    blob: str
    looks: tuple[int, ...]
    mtime_ns: int


def tracked_in(data: bytes) -> list[TrackedFile] | None:
    """List all files of an index; None if unsupported (merges, sparse or split indexes)."""
    if data[:4] != _SIGNATURE or int.from_bytes(data[4:8], "big") not in (2, 3, 4):
        return None
    for hash_bytes in _HASH_BYTES:
        try:
            return _all_tracked(data, hash_bytes)
        except (IndexError, ValueError):
            continue
    return None


def _all_tracked(data: bytes, hash_bytes: int) -> list[TrackedFile] | None:
    tracked: list[TrackedFile] = []
    end = 12
    for start, after, flags, name in _entries(data, hash_bytes):
        end = after
        mode = int.from_bytes(data[start + 24 : start + 28], "big")
        if flags & (_VALID | _EXTENDED | _STAGE) or stat.S_ISDIR(mode):
            return None
        if mode == _SUBMODULE:
            continue
        numbers = [int.from_bytes(data[at : at + 4], "big") for at in range(start, start + _STAT_BYTES, 4)]
        ctime_s, ctime_ns, mtime_s, mtime_ns, _, inode, _, uid, gid, size = numbers
        blob = data[start + _STAT_BYTES : start + _STAT_BYTES + hash_bytes].hex()
        looks = (ctime_s * _NS + ctime_ns, mtime_s * _NS + mtime_ns, inode, uid, gid, size)
        tracked.append(TrackedFile(name, mode, blob, looks, looks[1]))
    while end < len(data) - hash_bytes:
        if data[end : end + 4] in (b"link", b"sdir"):
            return None
        end += 8 + int.from_bytes(data[end + 4 : end + 8], "big")
    return tracked


def is_as_tracked(one: TrackedFile, info: os.stat_result) -> bool:
    """Whether a file's stat is unchanged since git last checked it."""
    looks = (
        info.st_ctime_ns,
        info.st_mtime_ns,
        info.st_ino & _LOW,
        info.st_uid & _LOW,
        info.st_gid & _LOW,
        info.st_size & _LOW,
    )
    if looks != one.looks:
        return False
    if stat.S_ISLNK(one.mode) or not stat.S_ISREG(info.st_mode):
        return stat.S_ISLNK(one.mode) and stat.S_ISLNK(info.st_mode)
    return bool(one.mode & 0o100) == bool(info.st_mode & 0o100)


def sizes_in(data: bytes, names: Collection[bytes]) -> dict[bytes, int]:
    """Return the sizes of these files as far as known; empty for an unreadable index."""
    if data[:4] != _SIGNATURE or int.from_bytes(data[4:8], "big") not in (2, 3, 4):
        return {}
    for hash_bytes in _HASH_BYTES:
        try:
            return _sizes(data, names, hash_bytes)
        except (IndexError, ValueError):
            continue
    return {}


def _sizes(data: bytes, names: Collection[bytes], hash_bytes: int) -> dict[bytes, int]:
    return {
        name: int.from_bytes(data[start + 36 : start + 40], "big")
        for start, _, flags, name in _entries(data, hash_bytes)
        if name in names and not flags & _STAGE  # in a merge, none of the stages is the file's
    }


def _entries(data: bytes, hash_bytes: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield the start, end, flags and name of each entry."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    at, name, end_of_data = 12, b"", len(data) - hash_bytes
    for _ in range(count):
        start = at
        at += _STAT_BYTES + hash_bytes
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if flags & _EXTENDED else 2
        if version == 4:
            cut, at = _varint(data, at)
            kept = name[: len(name) - cut]
        else:
            kept = b""
        end = data.index(b"\0", at)
        name = kept + data[at:end]
        # The length is stored twice, which verifies the guessed hash size.
        if len(name) != flags & _NAME_BYTES and len(name) < _NAME_BYTES:
            raise ValueError("not an entry")
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        if at > end_of_data:
            raise ValueError("cut off")
        yield start, at, flags, name


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a number in git's encoding; return it and its end."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
