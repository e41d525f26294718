"""Files that can be deleted: full outputs of old sessions, and caches."""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

OLD_S = 30 * 86_400
_OUTPUT = re.compile(r"[0-9]{1,9}\.[\w-]+\.log")


class CacheFiles(NamedTuple):
    """Deletable files and their total size."""

    outputs: list[Path]
    cache: list[Path]
    bytes: int


def find_files(sessions: Path, cache: Path, current: Path | None) -> CacheFiles:
    """Full outputs of sessions unchanged for 30 days, and the whole cache.

    Keeps sessions, their plans and undo data, and everything of the current session.
    """
    oldest = time.time() - OLD_S
    outputs: list[Path] = []
    total = 0
    for log in _logs(sessions):
        folder = log.with_suffix("")
        if log == current or _time(log) > oldest or not folder.is_dir():
            continue
        for path in folder.iterdir():
            if _OUTPUT.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                outputs.append(path)
                total += _size(path)
    kept = sorted(cache.iterdir()) if cache.is_dir() else []
    total += sum(_size(path) for path in _files(kept))
    return CacheFiles(outputs, kept, total)


def remove_files(found: CacheFiles) -> int:
    """Delete the files; returns how many failed."""
    failed = 0
    for path in found.outputs:
        try:
            path.unlink()
        except OSError:
            failed += 1
    for path in found.cache:
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
        failed += path.exists()
    return failed


def _logs(sessions: Path) -> Iterator[Path]:
    with suppress(OSError):
        for folder in (sessions, *(path for path in sessions.iterdir() if path.is_dir())):
            yield from folder.glob("*.jsonl")


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            for base, _, names in os.walk(path):
                yield from (Path(base) / name for name in names)
        else:
            yield path


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
