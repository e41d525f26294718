"""Loads a session file into its tree: the entries, their addresses, and the damage found."""

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path
from sys import intern
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import SessionError
from tau.base.jsonl import read_jsonl
from tau.base.late import late
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.storage.line_storage import EntryRecords, FileStorage, MemoryStorage, Storage

headers = late("tau.coding.session.storage.header")
migration = late("tau.coding.session.storage.migration")

_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}
_MAX_LISTED_LINES = 10
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
    if header is None or version < s.VERSION:
        old = read_jsonl(path)
        damage = _damage_warnings(storage, old.damaged, old.torn)  # before the file is replaced
        if header is None or 1 in old.damaged:
            loaded = _rebuilt(path, storage, old.lines, refusal)
        else:
            loaded = _migrated(path, storage, migration.migrate_lines(old.lines, version), version, refusal)
    else:
        loaded = LoadedLog(header, storage, read_only=refusal)
        _build_tree(loaded, path, records, places)
        damage = _damage_warnings(storage, records.damaged, records.torn)
    loaded.warnings += damage
    return loaded


def _damage_warnings(storage: FileStorage, damaged: Sequence[int], torn: bytes) -> list[str]:
    """What the file has lost, as sentences. A last line that is still being written is not lost."""
    damage = []
    name = storage.path.name
    if storage.torn or (torn and not storage.is_written_to()):
        where = f"; its bytes are in {name}.torn" if storage.torn else ""
        damage.append(f"The last entry of {name} is incomplete and was skipped{where}.")
    if damaged:
        more = " and more" if len(damaged) > _MAX_LISTED_LINES else ""
        numbers = ", ".join(map(str, damaged[:_MAX_LISTED_LINES]))
        damage.append(f"{name} has damaged lines, which were skipped: {numbers}{more}.")
    return damage


def _rebuilt(path: Path, storage: FileStorage, lines: Sequence[bytes], refusal: str | None) -> LoadedLog:
    """Load a file whose header is damaged, with a new one."""
    records = headers.rebuild(path, lines)
    if records is None:
        raise SessionError(f"{path} does not start with a session header, so it is not a session.")
    what = "The session's damaged header was rebuilt"
    return _migrated(path, storage, records, s.VERSION, refusal, what=what)


def _migrated(
    path: Path, storage: FileStorage, lines: list[bytes], version: int, refusal: str | None, *, what: str = ""
) -> LoadedLog:
    """Load a file of an older version, or with another header, and rewrite it if possible."""
    warnings: list[str] = []
    new_storage: Storage = MemoryStorage(lines)
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
            new_storage = new
            what = what or f"The session was migrated from version {version} to version {s.VERSION}"
            warnings.append(f"{what}; the old file was kept as {backup.name}.")
    try:
        records = new_storage.scan(_place_decoder)
        places = iter(records)
        header, _ = _header(path, new_storage, places)
        assert header is not None
        loaded = LoadedLog(header, new_storage, read_only=refusal, warnings=warnings)
        _build_tree(loaded, path, records, places)
    except BaseException:
        new_storage.close()
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


def _header(path: Path, storage: Storage, places: Places) -> tuple[s.SessionHeader | None, int]:
    """The header and its version; None if it is damaged."""
    title = b""
    try:
        place, start, size = next(places)
        if place.type == "title":  # omp's first line
            title = storage.read(start, size)
            place, start, size = next(places)
        line = storage.read(start, size)
        version = _version_decoder.decode(line).version
        if version > s.VERSION:
            raise SessionError(
                f"{path} has version {version}, but this tau supports versions up to {s.VERSION}; "
                "a newer tau can open it."
            )
        header = s.decode_header(line)
        return headers.with_title(header, title) if title else header, version
    except (StopIteration, ValueError):
        return None, s.VERSION


def _build_tree(loaded: LoadedLog, path: Path, records: EntryRecords[_LinePlace], places: Places) -> None:
    """Place every entry in the tree. It comes after its parent, so there are no cycles."""
    nodes = loaded.nodes
    last: str | None = None
    orphans: dict[str, str] = {}  # to the parents that did not come before them
    duplicates = without_id = 0
    for place, start, size in places:
        id, parent = place.id, place.parent_id
        if not id or id in nodes:
            duplicates += bool(id)
            without_id += not id
            continue
        if parent == last:
            parent = last  # share the string objects: they make up most of the tree's memory
        elif parent is None:
            loaded.linear = False
        elif (found := nodes.get(parent)) is not None:
            parent = found.id
            loaded.linear = False
        else:
            orphans[id] = parent
            parent = last
        kind = intern(place.type)
        nodes[id] = node = EntryNode(kind, id, parent, start, size)
        last = id
        if kind is _INFO:
            loaded.info = node
    if any(parent in nodes for parent in orphans.values()):
        loaded.nodes = _reordered(nodes, orphans)
        loaded.linear = False
    for count, what in (
        (records.strange + without_id, "Skipped lines of {} that are not entries"),
        (duplicates, "Skipped entries of {} with a duplicate id"),
        (len(orphans), "Entries of {} with a missing parent, attached to the entry before them"),
    ):
        if count:
            loaded.warnings.append(f"{what.format(path.name)}: {count}.")


def _reordered(nodes: dict[str, EntryNode], orphans: dict[str, str]) -> dict[str, EntryNode]:
    """The nodes with parents before their children; removes from `orphans` those whose parent came later.

    Of entries that descend from each other, the first in the file stays an orphan.
    """
    before = {id: nodes[id].parent_id for id in orphans}
    for id, parent in list(orphans.items()):
        if parent in nodes:
            nodes[id] = replace(nodes[id], parent_id=nodes[parent].id)
            del orphans[id]
    ordered: dict[str, EntryNode] = {}
    for start in list(nodes):
        chain: list[str] = []
        at: str | None = start
        in_chain: set[str] = set()
        while at is not None and at not in ordered:
            if at in in_chain:
                cycle = set(chain[chain.index(at) :])
                first = next(id for id in before if id in cycle)
                orphans[first] = at
                parent_id = before[first] if before[first] in ordered else next(reversed(ordered), None)
                nodes[first] = replace(nodes[first], parent_id=parent_id)
                chain, in_chain, at = [], set(), start
                continue
            chain.append(at)
            in_chain.add(at)
            at = nodes[at].parent_id
        ordered.update((id, nodes[id]) for id in reversed(chain))
    return ordered
