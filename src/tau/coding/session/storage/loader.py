"""Reads a session file into its tree: which entries there are, where they stand, and what is wrong."""

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
    """`nodes` are in the order of the file; `info` is the last one that names the session.

    In a `linear` session each entry follows the one before it in the file.
    """

    header: s.SessionHeader
    storage: Storage
    nodes: dict[str, EntryNode] = {}
    info: EntryNode | None = None
    linear: bool = True
    read_only: str | None = None
    warnings: list[str] = []


def load(path: Path, *, read_only: bool = False) -> LoadedLog:
    """Open a session file, to write it too unless `read_only`; older versions are brought to ours."""
    storage = FileStorage(path)
    refusal = f"{path} was opened read-only; fork the session to go on." if read_only else None
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
    """Become the writer; if the file cannot be written at all, open it anyway: the reason is returned."""
    if not storage.path.exists():
        raise SessionError(f"There is no session file {storage.path}.")
    try:
        storage.lock()
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        storage.open()
        return f"{storage.path} cannot be written: {error.strerror}. Fork the session to go on."
    return None


def _read(path: Path, storage: FileStorage, refusal: str | None) -> LoadedLog:
    records = storage.scan(_place_decoder)
    places = iter(records)
    header, version = _header(path, storage, places)
    if version < s.VERSION:
        old = read_jsonl(path)
        if not old.lines or 1 in old.damaged:
            raise SessionError(f"The header of {path} is damaged, so its version is not known.")
        faults = _faults(storage, old.damaged, old.torn)
        loaded = _migrated(path, storage, migration.migrated(old.lines, version), version, refusal)
    else:
        loaded = LoadedLog(header, storage, read_only=refusal)
        _fill(loaded, path, records, places)
        faults = _faults(storage, records.damaged, records.torn)
    loaded.warnings += faults
    return loaded


def _faults(storage: FileStorage, damaged: Sequence[int], torn: bytes) -> list[str]:
    """What the file has lost, as sentences. A last line that somebody is writing is not lost."""
    faults = []
    name = storage.path.name
    if storage.torn or (torn and not storage.is_written_to()):
        where = f"; its bytes are in {name}.torn" if storage.torn else ""
        faults.append(f"The last entry of {name} was never finished and is left out{where}.")
    if damaged:
        more = " and more" if len(damaged) > _NAMED_LINES else ""
        numbers = ", ".join(map(str, damaged[:_NAMED_LINES]))
        faults.append(f"{name} has damaged lines that are left out: {numbers}{more}.")
    return faults


def _migrated(
    path: Path, storage: FileStorage, lines: list[bytes], version: int, refusal: str | None
) -> LoadedLog:
    """The tree of a file of an older version, which is rewritten unless that cannot be done."""
    warnings: list[str] = []
    kept: Storage = MemoryStorage(lines)
    if refusal is None:
        try:
            backup = migration.rewrite(path, lines, version)
        except OSError as error:
            refusal = (
                f"{path} has version {version} and cannot be brought to version {s.VERSION}: "
                f"{error.strerror or error}. Fork the session to go on."
            )
            warnings.append(refusal)
        else:
            new = FileStorage(path)
            new.lock()  # before the old one is given up, which nobody can find any more
            kept = new
            warnings.append(
                f"The session had version {version} and was brought to version {s.VERSION}; "
                f"the old file is kept as {backup.name}."
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
    version: int = 1  # the first version did not say so


_place_decoder = msgspec.json.Decoder(_LinePlace)
_version_decoder = msgspec.json.Decoder(_Version)


def _header(path: Path, storage: Storage, places: Places) -> tuple[s.SessionHeader, int]:
    try:
        _, start, size = next(places)
        line = storage.read(start, size)
        version = _version_decoder.decode(line).version
        if version > s.VERSION:
            raise SessionError(
                f"{path} has version {version}, and this tau knows versions up to {s.VERSION}; "
                "a newer tau can open it."
            )
        return s.decode_header(line), version
    except (StopIteration, ValueError):
        raise SessionError(f"{path} does not begin with a session header, so it is not a session.") from None


def _fill(loaded: LoadedLog, path: Path, records: EntryRecords[_LinePlace], places: Places) -> None:
    """Give every entry its place. It comes after its parent, so there are no circles."""
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
            parent = last  # the same object: a tree of small nodes consists of its strings
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
        (records.strange + nameless, "Lines of {} that are no entries and are left out"),
        (double, "Entries of {} that are left out because another one has their id"),
        (lost, "Entries of {} that follow a missing one and now follow the one before them"),
    ):
        if count:
            loaded.warnings.append(f"{what.format(path.name)}: {count}.")
