"""The state of a path at one moment: nothing, a file with its content, a link, or something else."""

import os
import stat
import time
from typing import Literal, TypeAlias

from msgspec import Struct

from tau.base.files import open_at_once
from tau.base.late import late
from tau.base.sizes import MIB

hashlib = late("hashlib")

MAX_FILE_BYTES = 16 * MIB  # larger files are not saved
UNREAD_PREFIX = "looks:"  # instead of a hash: the file was not read, size and time identify its content
# A file changed this recently may change again without a different stat.
RACY_NS = 50_000_000

_Kind = Literal["absent", "file", "link", "folder", "other"]
StatKey: TypeAlias = tuple[int, int, int, int, int]  # changes whenever the file does, except in a race


class FileState(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`hash` is the SHA-256 of a file's content, `target` that of a link; `mode` holds only permissions.

    A `mode` of 0 means unknown.
    """

    kind: _Kind = "absent"
    hash: str = ""
    mode: int = 0
    size: int = 0
    target: bytes = b""

    @property
    def readable(self) -> bool:
        """Whether the content was read, so it may have been saved."""
        return self.kind != "file" or not self.hash.startswith(UNREAD_PREFIX)


ABSENT = FileState()


class FileObservation(Struct, frozen=True):
    """A state and the stat fields seen with it. `settled`: those fields are reliable."""

    state: FileState
    stat_key: StatKey | None = None
    settled: bool = False


def same_content(one: FileState, other: FileState) -> bool:
    return (one.kind, one.hash, one.target) == (other.kind, other.hash, other.target)


def stat_or_none(path: str) -> os.stat_result | None:
    """Return the stat of a path, or None if it is missing or inaccessible."""
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def stat_key(info: os.stat_result) -> StatKey:
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_mode


def observe(path: str) -> tuple[FileObservation, bytes]:
    """Observe the current state, and the content if it was read.

    `path` is a real path: if a link has replaced one of its folders, the file counts as missing.
    """
    info = stat_or_none(path)
    if info is None or has_linked_parent(path):
        return FileObservation(ABSENT), b""
    seen, permissions = stat_key(info), stat.S_IMODE(info.st_mode)
    settled = time.time_ns() - info.st_ctime_ns > RACY_NS
    if stat.S_ISLNK(info.st_mode):
        try:
            target = os.fsencode(os.readlink(path))  # noqa: PTH115 - bytes are needed
        except OSError:
            return FileObservation(ABSENT), b""
        return FileObservation(FileState(kind="link", target=target), seen, settled), b""
    if not stat.S_ISREG(info.st_mode):
        kind: _Kind = "folder" if stat.S_ISDIR(info.st_mode) else "other"
        return FileObservation(FileState(kind=kind, mode=permissions), seen, settled), b""
    data = _content(path, info)
    if data is None:
        name = f"{UNREAD_PREFIX}{info.st_size}:{info.st_mtime_ns}:{info.st_ino}"
        state = FileState(kind="file", hash=name, mode=permissions, size=info.st_size)
        return FileObservation(state, seen, settled), b""
    state = FileState(kind="file", hash=digest(data), mode=permissions, size=len(data))
    return FileObservation(state, seen, settled), data


def has_linked_parent(path: str) -> bool:
    """Whether a parent folder is a symbolic link."""
    folder = os.path.dirname(path)  # noqa: PTH120 - called for every file of a large repository
    return os.path.realpath(folder) != folder


def unchanged(path: str, before: FileObservation) -> bool:
    """Whether the file is surely unchanged, judging by its stat alone."""
    info = stat_or_none(path)
    if info is None:
        return before.state.kind == "absent"
    return before.settled and before.stat_key == stat_key(info)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_state(data: bytes, mode: int = 0) -> FileState:
    return FileState(kind="file", hash=digest(data), mode=stat.S_IMODE(mode), size=len(data))


def _content(path: str, info: os.stat_result) -> bytes | None:
    if info.st_size > MAX_FILE_BYTES:
        return None
    try:
        with open(path, "rb", buffering=0, opener=open_at_once) as file:
            if not os.path.samestat(os.fstat(file.fileno()), info):
                return None
            pieces: list[bytes] = []
            while piece := file.read(MIB):
                pieces.append(piece)
                if len(pieces) * MIB > MAX_FILE_BYTES + MIB:
                    return None
    except OSError:
        return None
    return b"".join(pieces)
