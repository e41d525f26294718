"""Finds files that changed on disk since the last look, for servers that cannot see it themselves."""

import os
import time
from collections.abc import Callable
from pathlib import Path

MAX_FILES = 20_000
MAX_ENTRIES = 100_000
SKIPPED = frozenset(
    (".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target", ".mypy_cache")
)
CREATED, CHANGED, DELETED = 1, 2, 3


class FileWatch:
    """`changes` compares the folder with the last look. It walks the folder: call it in a thread."""

    def __init__(self, root: Path, wanted: Callable[[Path], bool]) -> None:
        self._root = root
        self._wanted = wanted
        self._known: dict[str, tuple[int, int]] | None = None
        self.looked_at = 0.0

    def changes(self) -> list[tuple[Path, int]]:
        self.looked_at = time.monotonic()
        before, now = self._known, self._walk()
        self._known = now
        if before is None:
            return []
        found = [(Path(path), CREATED) for path in now.keys() - before.keys()]
        found += [(Path(path), DELETED) for path in before.keys() - now.keys()]
        return found + [
            (Path(path), CHANGED) for path in now.keys() & before.keys() if now[path] != before[path]
        ]

    def files(self) -> list[Path]:
        return [Path(path) for path in self._walk()]

    def _walk(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        waiting, seen = [str(self._root)], 0
        while waiting and len(found) < MAX_FILES and seen < MAX_ENTRIES:
            try:
                with os.scandir(waiting.pop()) as entries:
                    for entry in entries:
                        seen += 1
                        if entry.is_dir(follow_symlinks=False):
                            if entry.name not in SKIPPED:
                                waiting.append(entry.path)
                        elif self._wanted(Path(entry.name)):
                            stat = entry.stat(follow_symlinks=False)
                            found[entry.path] = (stat.st_mtime_ns, stat.st_ctime_ns)
            except OSError:
                continue
        return found
