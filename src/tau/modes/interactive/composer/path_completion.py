"""Completes a path by listing the folder it names."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from tau.base.files import typed_path

MAX_ENTRIES = 200
MAX_S = 0.015
"""Time limit for listing one folder, since the user is waiting."""


class PathListing(NamedTuple):
    """Completions of a typed path: `folder` as typed, and its entries."""

    folder: str
    names: list[str]
    """Folders first, with a trailing slash."""


def listed(typed: str, cwd: Path) -> PathListing:
    """Entries that start with the last part of the typed path; else those that contain it."""
    if typed in ("~", "..", "."):
        typed = f"{typed}/"
    folder, _, part = typed.rpartition("/")
    folder = f"{folder}/" if "/" in typed else ""
    names = _names(cwd / typed_path(folder) if folder else cwd, hidden=part.startswith("."))
    part = part.lower()
    found = [name for name in names if name.lower().startswith(part)]
    found = found or [name for name in names if part in name.lower()]
    found.sort(key=lambda name: (not name.endswith("/"), name.lower(), name))
    return PathListing(folder, found[:MAX_ENTRIES])


def _names(folder: Path, *, hidden: bool) -> list[str]:
    """As many as can be read in time."""
    names: list[str] = []
    end = time.monotonic() + MAX_S
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.isprintable() and (hidden or not entry.name.startswith(".")):
                    names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
                if time.monotonic() > end:
                    break
    except OSError:
        pass
    return names
