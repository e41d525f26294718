"""Reads from git's index how large files were in the work tree: a blob alone does not tell."""

from collections.abc import Collection

_SIGNATURE = b"DIRC"
_HASH_BYTES = (20, 32)  # SHA-1, SHA-256
_STAT_BYTES = 40
_EXTENDED = 0x4000
_NAME_BYTES = 0x0FFF


def sizes_in(data: bytes, names: Collection[bytes]) -> dict[bytes, int]:
    """The sizes of these files, as far as the index has them; nothing from an index that we cannot read."""
    if data[:4] != _SIGNATURE or int.from_bytes(data[4:8], "big") not in (2, 3, 4):
        return {}
    for hash_bytes in _HASH_BYTES:
        try:
            return _sizes(data, names, hash_bytes)
        except (IndexError, ValueError):
            continue
    return {}


def _sizes(data: bytes, names: Collection[bytes], hash_bytes: int) -> dict[bytes, int]:
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    found: dict[bytes, int] = {}
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
        # The length is written twice, which shows whether the size of the hashes was guessed right.
        if len(name) != flags & _NAME_BYTES and len(name) < _NAME_BYTES:
            raise ValueError("not an entry")
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        if at > end_of_data:
            raise ValueError("cut off")
        if name in names and not flags & 0x3000:  # of several versions in a merge none is the file's
            found[name] = int.from_bytes(data[start + 36 : start + 40], "big")
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number in git's own encoding, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
