"""Loads a session file into its tree: the entries, their addresses, and the damage found."""

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path
from sys import intern
from typing import TypeAlias

import msgspec
from msgspec import Struct

from tau.base.errors import SessionError
from tau.base.jsonl import read_jsonl
from tau.base.late import late
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.storage.line_storage import EntryRecords, FileStorage, MemoryStorage, Storage

migration = late("tau.coding.session.storage.migration")

_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}
_NAMED_LINES = 10
_INFO = intern("session_info")


class LoadedLog(Struct):
    """`nodes` are in file order; `info` is the last one that names the session.

    In a `linear` session, each entry's parent is the one before it in the file.
    """

    header: s.SessionHeader
    storage: Storage
    nodes: dict[str, EntryNode] = {}
    info: EntryNode | None = None
    linear: bool = True
    read_only: str | None = None
    warnings: list[str] = []


def load(path: Path, *, read_only: bool = False) -> LoadedLog:
    """Open a session file, for writing too unless `read_only`; older versions are migrated."""
    storage = FileStorage(path)
    refusal = f"{path} was opened read-only; fork the session to continue." if read_only else None
    try:
        if refusal is None:
            refusal = _lock(storage)
        else:
            storage.open()
        loaded = _read(path, storage, refusal)
    except OSError as error:
        storage.close()
        raise SessionError(f"The session {path} cannot be opened: {error.strerror or error}.") from error
    except BaseException:
        storage.close()
        raise
    if refusal is not None and not read_only:
        loaded.warnings.insert(0, refusal)
    return loaded


def _lock(storage: FileStorage) -> str | None:
    """Become the writer. If the file cannot be written at all, open it anyway and return the reason."""
    if not storage.path.exists():
        raise SessionError(f"There is no session file {storage.path}.")
    try:
        storage.lock()
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        storage.open()
        return f"{storage.path} cannot be written: {error.strerror}. Fork the session to continue."
    return None


def _read(path: Path, storage: FileStorage, refusal: str | None) -> LoadedLog:
    records = storage.scan(_place_decoder)
    places = iter(records)
    header, version = _header(path, storage, places)
    if version < s.VERSION:
        old = read_jsonl(path)
        if not old.lines or 1 in old.damaged:
            raise SessionError(f"The header of {path} is damaged, so its version is unknown.")
        faults = _faults(storage, old.damaged, old.torn)
        loaded = _migrated(path, storage, migration.migrate_lines(old.lines, version), version, refusal)
    else:
        loaded = LoadedLog(header, storage, read_only=refusal)
        _fill(loaded, path, records, places)
        faults = _faults(storage, records.damaged, records.torn)
    loaded.warnings += faults
    return loaded


def _faults(storage: FileStorage, damaged: Sequence[int], torn: bytes) -> list[str]:
    """What the file has lost, as sentences. A last line that is still being written is not lost."""
    faults = []
    name = storage.path.name
    if storage.torn or (torn and not storage.is_written_to()):
        where = f"; its bytes are in {name}.torn" if storage.torn else ""
        faults.append(f"The last entry of {name} is incomplete and was skipped{where}.")
    if damaged:
        more = " and more" if len(damaged) > _NAMED_LINES else ""
        numbers = ", ".join(map(str, damaged[:_NAMED_LINES]))
        faults.append(f"{name} has damaged lines, which were skipped: {numbers}{more}.")
    return faults


def _migrated(
    path: Path, storage: FileStorage, lines: list[bytes], version: int, refusal: str | None
) -> LoadedLog:
    """Load a file of an older version, and rewrite it if possible."""
    warnings: list[str] = []
    kept: Storage = MemoryStorage(lines)
    if refusal is None:
        try:
            backup = migration.rewrite(path, lines, version)
        except OSError as error:
            refusal = (
                f"{path} has version {version} and cannot be migrated to version {s.VERSION}: "
                f"{error.strerror or error}. Fork the session to continue."
            )
            warnings.append(refusal)
        else:
            new = FileStorage(path)
            new.lock()  # before the old one is released, which no path leads to any more
            kept = new
            warnings.append(
                f"The session was migrated from version {version} to version {s.VERSION}; "
                f"the old file was kept as {backup.name}."
            )
    try:
        records = kept.scan(_place_decoder)
        places = iter(records)
        header, _ = _header(path, kept, places)
        loaded = LoadedLog(header, kept, read_only=refusal, warnings=warnings)
        _fill(loaded, path, records, places)
    except BaseException:
        kept.close()
        raise
    storage.close()
    return loaded


class _LinePlace(Struct, frozen=True, gc=False, rename="camel"):
    type: str
    id: str = ""
    parent_id: str | None = None


Places: TypeAlias = Iterator[tuple[_LinePlace, int, int]]


class _Version(Struct, frozen=True):
    version: int = 1  # version 1 has no such field


_place_decoder = msgspec.json.Decoder(_LinePlace)
_version_decoder = msgspec.json.Decoder(_Version)


def _header(path: Path, storage: Storage, places: Places) -> tuple[s.SessionHeader, int]:
    try:
        _, start, size = next(places)
        line = storage.read(start, size)
        version = _version_decoder.decode(line).version
        if version > s.VERSION:
            raise SessionError(
                f"{path} has version {version}, but this tau supports versions up to {s.VERSION}; "
                "a newer tau can open it."
            )
        return s.decode_header(line), version
    except (StopIteration, ValueError):
        raise SessionError(f"{path} does not start with a session header, so it is not a session.") from None


def _fill(loaded: LoadedLog, path: Path, records: EntryRecords[_LinePlace], places: Places) -> None:
    """Place every entry in the tree. It comes after its parent, so there are no cycles."""
    nodes = loaded.nodes
    last: str | None = None
    lost = double = nameless = 0
    for place, start, size in places:
        id, parent = place.id, place.parent_id
        if not id or id in nodes:
            double += bool(id)
            nameless += not id
            continue
        if parent == last:
            parent = last  # share the string objects: they make up most of the tree's memory
        elif parent is None:
            loaded.linear = False
        elif (found := nodes.get(parent)) is not None:
            parent = found.id
            loaded.linear = False
        else:
            parent = last
            lost += 1
        kind = intern(place.type)
        nodes[id] = node = EntryNode(kind, id, parent, start, size)
        last = id
        if kind is _INFO:
            loaded.info = node
    for count, what in (
        (records.strange + nameless, "Skipped lines of {} that are not entries"),
        (double, "Skipped entries of {} with a duplicate id"),
        (lost, "Entries of {} with a missing parent, attached to the entry before them"),
    ):
        if count:
            loaded.warnings.append(f"{what.format(path.name)}: {count}.")
