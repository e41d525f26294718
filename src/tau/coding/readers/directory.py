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
from tau.coding.output import EntryLimit

DEPTH = 2
PER_FOLDER = 12
MAX_LINES = 3_000
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


async def directory_tree(
    path: Path,
    fs: FileSystem,
    *,
    max_lines: int = MAX_LINES,
    first_entry: int = 1,
    now_ns: int | None = None,
) -> DirectoryTree:
    """Build the tree of a folder, starting at `first_entry`. Raises OSError."""
    top = await fs.scan(path, most=MAX_SCANNED)
    total = len(top.entries)
    if not total:
        return DirectoryTree(text="(empty directory)", lines=1, entries=0)
    now = time.time_ns() if now_ns is None else now_ns
    lines: list[str] = []
    shown = hidden = 0
    for entry in (await _newest(top.entries, first_entry - 1 + max_lines))[first_entry - 1 :]:
        if len(lines) >= max_lines:
            break
        shown += 1
        row = _row(entry, now, "")
        below: list[str] = []
        if entry.kind == "folder" and entry.name not in CLOSED:
            remark, below, left = await _below(path / entry.name, fs, now)
            row += remark
            hidden += left
        room = max_lines - len(lines)
        lines += [row, *below][:room]
        if 1 + len(below) > room:
            hidden += 1 + len(below) - room
            lines.append(f"  - [cut after {max_lines:,} lines]")
    notices = _notices(shown, total, first_entry, top.more)
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
    name = f"{indent}- {_shown(item.name)}"
    told = age(item.mtime_ns, now_ns) if item.mtime_ns else ""
    if item.kind == "folder":
        return f"{name}/ ({told})" if told else f"{name}/"
    if item.kind == "link":
        return f"{name} -> {_shown(item.target)}"
    if item.kind == "other":
        return f"{name} (no regular file)"
    return f"{name} ({format_bytes(item.size)}{', ' if told else ''}{told})"


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


def _notices(shown: int, total: int, first: int, more: bool) -> list[str]:
    notices = []
    last = first + shown - 1
    if shown < total:
        rest = f"; continue with :{last + 1}-" if last < total else ""
        notices.append(f"[Showing {shown} of {total} entries{rest}]")
    if more:
        notices.append(f"[There are more: only {MAX_SCANNED:,} entries were scanned, in no order]")
    return notices


def _shown(name: str) -> str:
    """Make a name printable in a row, whatever bytes it contains."""
    return clean_line(os.fsencode(name).decode("utf-8", "replace"))
