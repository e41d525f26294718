"""Find, list, read and write archives by paths such as `dist/app.zip:src/main.py:10-20`.

Nothing is ever unpacked to disk, and the sizes that an archive declares are not trusted.
"""

import stat as modes
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tau.agent.ports import FileSystem, Stat
from tau.base.errors import ToolError
from tau.base.sizes import format_bytes
from tau.base.text import clean_line, is_binary, shortened
from tau.base.threads import StopSignal, in_thread
from tau.coding.files.paths import Selector, shown, split_selector
from tau.coding.files.targets import FileTarget
from tau.coding.output import EntryLimit, OutputLimits, take
from tau.coding.readers.archives.index import (
    ArchiveIndex,
    ArchiveLimits,
    ArchiveMember,
    asked_path,
    children,
    refuse_write,
)
from tau.coding.readers.archives.tar import index_tar, new_tar, put_tar, read_tar
from tau.coding.readers.archives.zip import index_zip, put_zip, read_zip

LISTED_ENTRIES = 500
NAMED_LEFT_OUT = 5


class ArchivePath(Struct, frozen=True, kw_only=True):
    """The archive that a path refers to; `stat` is None if it does not exist yet."""

    path: Path
    name: str
    inner: str
    stat: Stat | None


class ArchiveListing(Struct, frozen=True, kw_only=True):
    """The direct children of a folder: some of `total` rows, the last of them row `last`."""

    name: str
    rows: list[str]
    total: int
    last: int = 0
    remarks: list[str] = []

    @property
    def limit(self) -> EntryLimit | None:
        return EntryLimit(len(self.rows), self.total) if len(self.rows) < self.total else None

    @property
    def text(self) -> str:
        """The listing as the model sees it, notices included."""
        if not self.total:
            return "\n".join(["(empty directory)", *self.remarks])
        notices = list(self.remarks)
        if len(self.rows) < self.total:
            more = f"; continue with {self.name}:{self.last + 1}-" if 0 < self.last < self.total else ""
            notices.append(f"[Showing {len(self.rows)} of {self.total} entries{more}]")
        return "\n".join([*self.rows, *notices])


class ArchiveEntry(Struct, frozen=True, kw_only=True):
    """One file of an archive. `name` is the full path without the selector."""

    name: str
    data: bytes
    selector: Selector

    def binary_notice(self) -> str | None:
        """The notice to show instead of an entry that is not UTF-8 text."""
        try:
            if not is_binary(self.data):
                self.data.decode("utf-8")
                return None
        except UnicodeDecodeError:
            pass
        name = shortened(self.name, 1_000)
        return f"[Cannot read binary archive entry '{name}' ({format_bytes(len(self.data))})]"


class ArchiveWritten(Struct, frozen=True):
    name: str
    created: bool
    replaced: bool


async def locate(target: FileTarget, cwd: Path, fs: FileSystem) -> ArchivePath:
    """The archive of a target; it may not exist yet. Raises OSError."""
    stat = await fs.stat(target.path)
    return ArchivePath(path=target.path, name=shown(target.path, cwd), inner=target.rest, stat=stat)


async def read(
    found: ArchivePath, fs: FileSystem, limits: ArchiveLimits | None = None
) -> ArchiveListing | ArchiveEntry:
    """Read the entry or folder after the colon. Raises ToolError, and OSError for the archive file itself."""
    limits = limits or ArchiveLimits()
    data = await _bytes_of(found, fs, limits)
    return await in_thread(lambda stop: look(data, found.name, found.inner, limits, stop))


async def write(
    found: ArchivePath, content: bytes, fs: FileSystem, limits: ArchiveLimits | None = None
) -> ArchiveWritten:
    """Write a file to the archive, which is replaced atomically. Raises ToolError, OSError."""
    limits = limits or ArchiveLimits()
    path = asked_path(found.inner, writing=True)
    data = None if found.stat is None else await _bytes_of(found, fs, limits)
    changed, replaced = await in_thread(lambda stop: put(data, found.name, path, content, limits, stop))
    await fs.write(found.path, changed, expect=found.stat)
    return ArchiveWritten(f"{found.name}:{path}", found.stat is None, replaced)


def look(
    data: bytes, name: str, inner: str, limits: ArchiveLimits, stop: StopSignal
) -> ArchiveListing | ArchiveEntry:
    """Like `read`, for bytes: look up `inner`, which may end in a selector."""
    index = entries_of(data, name, limits, stop)
    path, selector = _inner_and_selector(index, inner)
    entry = index.entries.get(path)
    if entry is not None and entry.kind != "folder":
        content = content_of(data, name, entry, limits, stop)
        return ArchiveEntry(name=f"{name}:{path}", data=content, selector=selector)
    rows = children(index, path)
    if rows is None:
        raise ToolError(f"There is no {shortened(path, 300)} in {name}; read {name} to see what is.")
    picked = selector.picks(len(rows))[:LISTED_ENTRIES]
    fitting = list(take((rows[number - 1] for number in picked), OutputLimits()).lines)
    return ArchiveListing(
        name=f"{name}:{path}" if path else name,
        rows=fitting,
        total=len(rows),
        last=picked[len(fitting) - 1] if fitting else 0,
        remarks=_remarks(index),
    )


def entries_of(data: bytes, name: str, limits: ArchiveLimits, stop: StopSignal) -> ArchiveIndex:
    """Index an archive; the name determines its kind, and for tar also the first bytes."""
    return index_zip(data, name, limits) if _is_zip(name) else index_tar(data, name, limits, stop)


def content_of(
    data: bytes, name: str, entry: ArchiveMember, limits: ArchiveLimits, stop: StopSignal
) -> bytes:
    """Return the bytes of an entry. Raises ToolError for links, devices, encryption, size and bombs."""
    where = f"{name}:{entry.path}"
    if entry.kind in ("symlink", "hardlink"):
        target = f" to {clean_line(entry.target)}" if entry.target else ""
        raise ToolError(f"{where} is a link{target}; links in archives are not followed. Read its target.")
    if entry.kind != "file":
        raise ToolError(f"{where} is a {entry.kind}, not a file.")
    if entry.encrypted:
        raise ToolError(f"{where} is encrypted; unpack it with its password outside tau.")
    if entry.size > limits.entry_bytes:
        size, limit = format_bytes(entry.size), format_bytes(limits.entry_bytes)
        raise ToolError(f"{where} has {size}, read takes at most {limit}; unpack it with bash instead.")
    unpack = read_zip if _is_zip(name) else read_tar
    return unpack(data, name, entry, limits, stop)


def put(
    data: bytes | None, name: str, path: str, content: bytes, limits: ArchiveLimits, stop: StopSignal
) -> tuple[bytes, bool]:
    """Return the archive's new bytes, and whether an entry was replaced. `data` is None for a new archive."""
    replaced = False
    if data is not None:
        index = entries_of(data, name, limits, stop)
        refuse_write(index, path)
        replaced = path in index.entries
        if not replaced and len(index.entries) >= limits.entries:
            raise ToolError(f"{name} has {limits.entries:,} entries already, which is the limit.")
    if _is_zip(name):
        return put_zip(data, name, path, content, limits), replaced
    if data is None:
        return new_tar(path, content, packed=not name.lower().endswith(".tar")), replaced
    return put_tar(data, name, path, content, limits, stop), replaced


async def _bytes_of(found: ArchivePath, fs: FileSystem, limits: ArchiveLimits) -> bytes:
    stat = found.stat
    if stat is None:
        raise ToolError(f"There is no archive {found.name}.")
    if stat.mode and not modes.S_ISREG(stat.mode):
        raise ToolError(f"{found.name} is a device, pipe or socket, not an archive.")
    if stat.size > limits.archive_bytes:
        size, limit = format_bytes(stat.size), format_bytes(limits.archive_bytes)
        raise ToolError(f"{found.name} has {size}, archives may have {limit}; use unzip or tar with bash.")
    return await fs.read(found.path)


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _inner_and_selector(index: ArchiveIndex, inner: str) -> tuple[str, Selector]:
    """Split off the selector, unless an entry has that exact name."""
    with suppress(ToolError):
        if inner and asked_path(inner) in index.entries:
            return asked_path(inner), Selector()
    path, selector = split_selector(f"/:{inner}")
    if path == "/":
        return "", selector
    path, selector = split_selector(inner)
    return asked_path(path), selector


def _remarks(index: ArchiveIndex) -> list[str]:
    remarks = [f"[{index.remark}]"] if index.remark else []
    if index.left_out:
        names = ", ".join(clean_line(name)[:80] for name in index.left_out[:NAMED_LEFT_OUT])
        more = ", …" if len(index.left_out) > NAMED_LEFT_OUT else ""
        count = len(index.left_out)
        noun = "entry with a name that leads" if count == 1 else "entries with names that lead"
        remarks.append(f"[Left out: {count} {noun} out of the archive: {names}{more}]")
    return remarks
