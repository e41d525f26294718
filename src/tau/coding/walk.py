"""Lists the files below folders, ignore files respected, without keeping anybody waiting."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tau.base.errors import ToolError
from tau.coding.search.globs import BadGlob, matcher
from tau.coding.search.tree import FolderEntries, tree

PAUSE_S = 0.005


async def walk(
    roots: Sequence[Path],
    *,
    globs: Sequence[str] = (),
    hidden: bool = True,
    gitignore: bool = True,
    limit: int | None = None,
) -> list[Path]:
    """The files below the roots (a root that is a file is itself one), sorted, each once, at most `limit`.

    `globs` are matched against the path below the root. Links are neither followed nor listed, what cannot be
    read is left out. Raises ToolError for a glob that cannot be read.
    """
    try:
        wanted = matcher(globs or ("**",))
    except BadGlob as error:
        raise ToolError(f"Invalid glob: {error}.") from None
    found: set[str] = set()
    for root in map(str, roots):
        if not Path(root).is_dir():
            found.update([root] if Path(root).is_file() else [])
            continue
        start = len(root.rstrip("/")) + 1
        async for piece in pieces(root, hidden=hidden, gitignore=gitignore):
            found.update(
                entry.path
                for entry in piece.entries
                if entry.is_file(follow_symlinks=False) and wanted(entry.path[start:])
            )
            if limit is not None and len(found) >= limit:
                return [Path(path) for path in sorted(found)[:limit]]
    return [Path(path) for path in sorted(found)]


async def pieces(
    root: str | os.PathLike[str],
    *,
    hidden: bool = True,
    gitignore: bool = True,
    max_depth: int | None = None,
    deadline: float | None = None,
) -> AsyncIterator[FolderEntries]:
    """`tree`, with a pause every few milliseconds. Raises TimeoutError at `deadline` (time.monotonic)."""
    rested = time.monotonic()
    for piece in tree(os.fspath(root), hidden=hidden, gitignore=gitignore, max_depth=max_depth):
        yield piece
        now = time.monotonic()
        if deadline is not None and now > deadline:
            raise TimeoutError
        if now - rested > PAUSE_S:
            await asyncio.sleep(0)
            rested = time.monotonic()
