"""Restores permissions that commands changed outside the workspace, where the engine allows that.

Landlock has no right for it. Watched are files whose permissions protect something: credentials, startup
files, the home folder.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

MAX_ENTRIES = 100  # of each folder


class ModeGuard:
    """One per sandbox. Call `watch` before it starts, `check` after each command."""

    def __init__(self) -> None:
        self._modes: dict[str, int] = {}

    def watch(self, paths: Iterable[Path]) -> None:
        """Remember the permissions of these files and folders, and of what is in the folders."""
        self._modes.clear()
        for path in map(str, paths):
            names = [path]
            with suppress(OSError), os.scandir(path) as entries:
                names += [entry.path for entry in islice(entries, MAX_ENTRIES)]
            self._modes |= {name: mode for name in names if (mode := _permissions(name)) is not None}

    def check(self) -> list[str]:
        """Restore them; returns a sentence for each that was changed."""
        notes = []
        for path, mode in self._modes.items():
            if _permissions(path) in (mode, None):
                continue
            with suppress(OSError):
                Path(path).chmod(mode)
                notes.append(f"The permissions of {path} were changed by the command; they are restored.")
        return notes


def _permissions(path: str) -> int | None:
    """None for a link, and for what cannot be looked at."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISLNK(mode) else stat.S_IMODE(mode)
