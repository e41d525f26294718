"""Finds files of a working folder by a part of their path."""

import os
import time
from contextlib import suppress
from pathlib import Path

from tau.coding.search.walk import pieces

MAX_FILES = 50_000
MAX_FOUND = 20
MAX_S = 5.0
STALE_S = 10.0


class FileNames:
    """The files of the folders asked for last, listed again when the list is stale."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._listed_s = 0.0
        self._names: list[str] = []

    async def find(self, folder: Path, query: str) -> list[str]:
        """The best matches: names that start with the query, names that contain it, other paths."""
        if folder != self._folder or time.monotonic() - self._listed_s > STALE_S:
            self._names = await _list(folder)
            self._folder, self._listed_s = folder, time.monotonic()
        wanted = query.lower()
        ranked = ((_rank(name.lower(), wanted), len(name), name) for name in self._names)
        return [name for rank, _, name in sorted(one for one in ranked if one[0] < 9)[:MAX_FOUND]]


def _rank(path: str, wanted: str) -> int:
    at = path.rfind("/") + 1
    if path.startswith(wanted, at):
        return 0
    if path.startswith(wanted):
        return 1
    return 2 if wanted in path[at:] else 3 if wanted in path else 9


async def _list(folder: Path) -> list[str]:
    """Files that git does not ignore; as many as there is time for."""
    start = len(os.fspath(folder).rstrip("/")) + 1
    names: list[str] = []
    with suppress(TimeoutError):
        async for piece in pieces(folder, hidden=False, deadline=time.monotonic() + MAX_S):
            names += [entry.path[start:] for entry in piece.entries if entry.is_file()]
            if len(names) >= MAX_FILES:
                break
    return names
