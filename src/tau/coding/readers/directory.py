"""List a directory as a two-level tree, most recent first, with sizes and ages."""

import heapq
import os
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.agent.ports import DirectoryEntry, FileSystem
from tau.base.sizes import format_bytes
from tau.base.text import clean_line
from tau.base.threads import in_thread
from tau.coding.files.credential_stores import is_credential_store
from tau.coding.files.paths import Selector
from tau.coding.output import EntryLimit, OutputLimits, take

PER_FOLDER = 12
MAX_SCANNED = 100_000
FEW = 2_000  # entries that can be sorted without a noticeable pause
# Listed, but not expanded: their contents are just noise in the parent's tree.
CLOSED = frozenset(
    (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache")
)
_AGES = ((60, "s"), (3600, "m"), (86_400, "h"), (7 * 86_400, "d"), (60 * 86_400, "w"), (730 * 86_400, "mo"))
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "mo": 30 * 86_400, "y": 365 * 86_400}


class DirectoryTree(Struct, frozen=True, kw_only=True):
    """`entries` are the direct children; `limit` is set if some are not shown."""

    text: str
    lines: int
    entries: int
    limit: EntryLimit | None = None


def _is_closed(folder: Path) -> bool:
    return folder.name in CLOSED or is_credential_store(folder)


async def directory_tree(
    path: Path,
    fs: FileSystem,
    selector: Selector | None = None,
    *,
    limits: OutputLimits | None = None,
    now_ns: int | None = None,
) -> DirectoryTree:
    """Build the tree of the selected entries of a folder. Raises OSError."""
    top = await fs.scan(path, most=MAX_SCANNED)
    total = len(top.entries)
    if not total:
        return DirectoryTree(text="(empty directory)", lines=1, entries=0)
    now = time.time_ns() if now_ns is None else now_ns
    limits = limits or OutputLimits()
    room_bytes = limits.bytes
    lines: list[str] = []
    shown = hidden = last = 0
    picked = (selector or Selector()).picks(total)[: limits.lines]
    newest = await _newest(top.entries, picked[-1] if picked else 0)
    for number in picked:
        entry = newest[number - 1]
        row = _row(entry, now, "")
        below: list[str] = []
        if entry.kind == "folder" and not _is_closed(path / entry.name):
            remark, below, left = await _below(path / entry.name, fs, now)
            row += remark
            hidden += left
        rows = [row, *below]
        size = sum(len(line.encode()) + 1 for line in rows)
        fits = size <= room_bytes and len(lines) + len(rows) <= limits.lines
        if not fits and lines:
            break
        shown, last = shown + 1, number
        room_bytes -= size
        lines += take(rows, limits).lines
        if not fits:
            hidden += len(rows) - len(lines)
            lines.append(f"  - [cut after {len(lines):,} lines]")
            break
    notices = _notices(shown, total, last, top.more)
    limit = EntryLimit(shown, total) if shown < total or hidden or top.more else None
    return DirectoryTree(text="\n".join([*lines, *notices]), lines=len(lines), entries=total, limit=limit)


def age(mtime_ns: int, now_ns: int) -> str:
    """Format an age such as `5m ago`; times in the future count as now."""
    seconds = (now_ns - mtime_ns) // 1_000_000_000
    if seconds < 10:
        return "just now"
    unit = next((unit for limit, unit in _AGES if seconds < limit), "y")
    return f"{seconds // _UNITS[unit]}{unit} ago"


async def _newest(entries: Sequence[DirectoryEntry], count: int) -> list[DirectoryEntry]:
    """Return the `count` most recently changed entries."""

    def choose() -> list[DirectoryEntry]:
        return heapq.nsmallest(
            count, entries, key=lambda entry: (-entry.mtime_ns, entry.name.casefold(), entry.name)
        )

    return choose() if len(entries) <= FEW else await in_thread(lambda _: choose())


def _row(item: DirectoryEntry, now_ns: int, indent: str) -> str:
    name = f"{indent}- {_printable(item.name)}"
    changed = age(item.mtime_ns, now_ns) if item.mtime_ns else ""
    if item.kind == "folder":
        return f"{name}/ ({changed})" if changed else f"{name}/"
    if item.kind == "link":
        return f"{name} -> {_printable(item.target)}"
    if item.kind == "other":
        return f"{name} (no regular file)"
    return f"{name} ({format_bytes(item.size)}{', ' if changed else ''}{changed})"


async def _below(path: Path, fs: FileSystem, now_ns: int) -> tuple[str, list[str], int]:
    """List a subfolder: a remark on it, its rows, and the number of rows left out."""
    try:
        scan = await fs.scan(path, most=MAX_SCANNED)
    except OSError as error:
        return f" [cannot be read: {error.strerror or error}]", [], 0
    rows = [_row(entry, now_ns, "  ") for entry in await _newest(scan.entries, PER_FOLDER)]
    left = len(scan.entries) - len(rows)
    if left:
        rows.append(f"  - … {left}{'+' if scan.more else ''} more")
    return "" if scan.entries else " [empty]", rows, left


def _notices(shown: int, total: int, last: int, more: bool) -> list[str]:
    notices = []
    if shown < total:
        rest = f"; continue with :{last + 1}-" if 0 < last < total else ""
        notices.append(f"[Showing {shown} of {total} entries{rest}]")
    if more:
        notices.append(f"[There are more: only {MAX_SCANNED:,} entries were scanned, in no order]")
    return notices


def _printable(name: str) -> str:
    """Make a name printable in a row, whatever bytes it contains."""
    return clean_line(os.fsencode(name).decode("utf-8", "replace"))
