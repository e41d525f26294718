"""Content-addressed store of earlier file contents, private and bounded in size."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tau.base.files import make_private, write_atomic
from tau.base.sizes import MIB, format_bytes
from tau.coding.undo.file_state import digest

CAP_BYTES = 256 * MIB
_LEFT_AFTER_CLEARING = 0.9


def ignore_warning(warning: str) -> None:
    """Discard a warning."""


class ContentStore:
    """A store in one folder. Evicts the oldest contents when full, and warns once.

    `pinned` are the hashes of the current turn, never evicted; the owner clears the set.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cap_bytes: int = CAP_BYTES,
        warn: Callable[[str], None] = ignore_warning,
        pinned: set[str] | None = None,
    ) -> None:
        self.folder = folder
        self._pinned = set() if pinned is None else pinned
        self._cap_bytes = cap_bytes
        self._warn = warn
        self._told = False
        self._used_bytes: int | None = None

    def has(self, hash: str) -> bool:
        return os.path.lexists(self.folder / hash)

    def get(self, hash: str) -> bytes | None:
        """Return the content, or None if it is missing or corrupt."""
        try:
            data = (self.folder / hash).read_bytes()
        except (OSError, ValueError):
            return None
        return data if digest(data) == hash else None

    def put(self, hash: str, data: bytes, *, sync: bool = True) -> bool:
        """Store the content; False if there is no room. Raises OSError."""
        path = self.folder / hash
        self._pinned.add(hash)
        try:
            if path.stat().st_size == len(data):
                os.utime(path)  # mark as recently used
                return True
        except OSError:
            pass
        if self._used_bytes is None:
            self._used_bytes = self._survey()
        if self._used_bytes + len(data) > self._cap_bytes:
            self._clear(len(data))
        if self._used_bytes + len(data) > self._cap_bytes:
            return False
        make_private(self.folder)
        write_atomic(path, data, mode=0o600, sync=sync)
        self._used_bytes += len(data)
        return True

    def _survey(self) -> int:
        return sum(size for _, size, _ in self._files())

    def _files(self) -> list[tuple[int, int, str]]:
        """List (last use, size, name), oldest first."""
        found: list[tuple[int, int, str]] = []
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    found.append((info.st_mtime_ns, info.st_size, entry.name))
        return sorted(found)

    def _clear(self, wanted: int) -> None:
        room = int(self._cap_bytes * _LEFT_AFTER_CLEARING) - wanted
        files = self._files()
        used = sum(size for _, size, _ in files)
        for _, size, name in files:
            if used <= room:
                break
            if name not in self._pinned:
                with suppress(OSError):
                    (self.folder / name).unlink()
                    used -= size
        self._used_bytes = used
        if not self._told:
            self._told = True
            self._warn(
                f"This session's file history has reached {format_bytes(self._cap_bytes)}: "
                "the oldest contents are dropped, and undo cannot restore them."
            )
