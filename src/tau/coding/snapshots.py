"""Remembers in which state the model last saw each file."""

from pathlib import Path

from tau.agent.ports import Stat

MAX_FILES = 10_000


class SeenFiles:
    """The oldest is forgotten when there are too many: a forgotten file is treated as one never read."""

    def __init__(self) -> None:
        self._seen: dict[Path, Stat] = {}

    def remember(self, path: Path, stat: Stat) -> None:
        self._seen.pop(path, None)
        self._seen[path] = stat
        if len(self._seen) > MAX_FILES:
            del self._seen[next(iter(self._seen))]

    def last_seen(self, path: Path) -> Stat | None:
        return self._seen.get(path)
