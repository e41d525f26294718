"""Directories as a tree of two levels: what changed last comes first, with sizes and ages."""

import os
import stat as modes
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.agent.ports import FileSystem
from tau.base.sizes import format_bytes
from tau.base.text import clean_line
from tau.base.threads import StopSignal, in_thread
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.output import EntryLimit

DEPTH = 2
PER_FOLDER = 12
MAX_LINES = 3_000
MAX_SCANNED = 100_000
# Listed like any other, but what is inside helps nobody who asks for the folder above.
CLOSED = frozenset(
    (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache")
)
_AGES = ((60, "s"), (3600, "m"), (86_400, "h"), (7 * 86_400, "d"), (60 * 86_400, "w"), (730 * 86_400, "mo"))
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "mo": 30 * 86_400, "y": 365 * 86_400}


class DirectoryEntry(Struct, frozen=True):
    """Something in a folder. `target` is where a symbolic link points."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    mtime_ns: int = 0
    target: str = ""


class DirectoryScan(Struct, frozen=True):
    """A folder's content as far as it was looked at, or why it could not be."""

    items: list[DirectoryEntry]
    error: str = ""
    more: bool = False


class DirectoryTree(Struct, frozen=True, kw_only=True):
    """`entries` are those directly in the folder, `limit` is there when any are not shown."""

    text: str
    lines: int
    entries: int
    limit: EntryLimit | None = None


Lister = Callable[[Path], Awaitable[DirectoryScan]]


async def directory_tree(
    path: Path,
    fs: FileSystem,
    *,
    max_lines: int = MAX_LINES,
    first_entry: int = 1,
    now_ns: int | None = None,
) -> DirectoryTree:
    """The tree of a folder; `first_entry` begins further down the list. Raises OSError."""
    lister = _lister(fs)
    top = await lister(path)
    if top.error:
        raise OSError(0, top.error, str(path))
    ordered = _by_recency(top.items)
    if not ordered:
        return DirectoryTree(text="(empty directory)", lines=1, entries=0)
    now = time.time_ns() if now_ns is None else now_ns
    lines: list[str] = []
    shown = hidden = 0
    for item in ordered[first_entry - 1 :]:
        if len(lines) >= max_lines:
            break
        shown += 1
        row = _row(item, now, "")
        below: list[str] = []
        if item.kind == "folder" and item.name not in CLOSED:
            inside = await lister(path / item.name)
            row += _remark(inside)
            below, left = _below(inside, now)
            hidden += left
        room = max_lines - len(lines)
        lines += [row, *below][:room]
        if 1 + len(below) > room:
            hidden += 1 + len(below) - room
            lines.append(f"  - [cut after {max_lines:,} lines]")
    total = len(ordered)
    notices = _notices(shown, total, first_entry, top.more)
    limit = EntryLimit(shown, total) if shown < total or hidden or top.more else None
    return DirectoryTree(text="\n".join([*lines, *notices]), lines=len(lines), entries=total, limit=limit)


def scan(path: Path, stop: StopSignal, most: int = MAX_SCANNED) -> DirectoryScan:
    """A folder of this machine, links not followed."""
    items: list[DirectoryEntry] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                stop.check()
                if len(items) == most:
                    return DirectoryScan(items, more=True)
                items.append(_scanned(entry))
    except OSError as error:
        return DirectoryScan(items, error.strerror or str(error))
    return DirectoryScan(items)


def age(mtime_ns: int, now_ns: int) -> str:
    """`5m ago`; what lies in the future is as new as can be."""
    seconds = (now_ns - mtime_ns) // 1_000_000_000
    if seconds < 10:
        return "just now"
    unit = next((unit for limit, unit in _AGES if seconds < limit), "y")
    return f"{seconds // _UNITS[unit]}{unit} ago"


def _lister(fs: FileSystem) -> Lister:
    """Scanning is many times faster than asking the port for each entry, where the port is this machine."""
    if isinstance(fs, LocalFileSystem):
        return lambda path: in_thread(lambda stop: scan(path, stop))

    async def ask(path: Path) -> DirectoryScan:
        try:
            names = await fs.list(path)
        except OSError as error:
            return DirectoryScan([], error.strerror or str(error))
        items = [await _asked(path / name, fs) for name in names[:MAX_SCANNED]]
        return DirectoryScan(items, more=len(names) > MAX_SCANNED)

    return ask


async def _asked(path: Path, fs: FileSystem) -> DirectoryEntry:
    try:
        stat = await fs.stat(path)
    except OSError:
        stat = None
    if stat is None:
        return DirectoryEntry(path.name, "other")
    kind: Literal["file", "folder", "other"] = "folder" if stat.is_dir else "file"
    if not stat.is_dir and stat.mode and not modes.S_ISREG(stat.mode):
        kind = "other"
    return DirectoryEntry(path.name, kind, stat.size, stat.mtime_ns)


def _scanned(entry: os.DirEntry[str]) -> DirectoryEntry:
    try:
        info = entry.stat(follow_symlinks=False)
        if modes.S_ISLNK(info.st_mode):
            return DirectoryEntry(entry.name, "link", 0, info.st_mtime_ns, os.readlink(entry.path))  # noqa: PTH115
    except OSError:
        return DirectoryEntry(entry.name, "other")
    kind: Literal["file", "folder", "other"] = "other"
    if modes.S_ISDIR(info.st_mode):
        kind = "folder"
    elif modes.S_ISREG(info.st_mode):
        kind = "file"
    return DirectoryEntry(entry.name, kind, info.st_size, info.st_mtime_ns)


def _by_recency(items: Sequence[DirectoryEntry]) -> list[DirectoryEntry]:
    return sorted(items, key=lambda item: (-item.mtime_ns, item.name.casefold(), item.name))


def _row(item: DirectoryEntry, now_ns: int, indent: str) -> str:
    name = f"{indent}- {_shown(item.name)}"
    told = age(item.mtime_ns, now_ns) if item.mtime_ns else ""
    if item.kind == "folder":
        return f"{name}/ ({told})" if told else f"{name}/"
    if item.kind == "link":
        return f"{name} -> {_shown(item.target)}"
    if item.kind == "other":
        return f"{name} (no regular file)"
    return f"{name} ({format_bytes(item.size)}{', ' if told else ''}{told})"


def _remark(listing: DirectoryScan) -> str:
    if listing.error:
        return f" [cannot be read: {listing.error}]"
    return "" if listing.items else " [empty]"


def _below(listing: DirectoryScan, now_ns: int) -> tuple[list[str], int]:
    """The rows of a folder inside the one that was asked for, and how many it has besides."""
    rows = [_row(item, now_ns, "  ") for item in _by_recency(listing.items)[:PER_FOLDER]]
    left = len(listing.items) - len(rows)
    if left:
        rows.append(f"  - … {left}{'+' if listing.more else ''} more")
    return rows, left


def _notices(shown: int, total: int, first: int, more: bool) -> list[str]:
    notices = []
    last = first + shown - 1
    if shown < total:
        rest = f"; continue with :{last + 1}-" if last < total else ""
        notices.append(f"[Showing {shown} of {total} entries{rest}]")
    if more:
        notices.append(f"[There are more: only {MAX_SCANNED:,} entries were looked at, in no order]")
    return notices


def _shown(name: str) -> str:
    """A name that can stand in a row, whatever bytes it is made of."""
    return clean_line(os.fsencode(name).decode("utf-8", "replace"))
