"""Instructions for agents from the user and the project: AGENTS.md, or else CLAUDE.md."""

import codecs
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from tau.base.files import mode_of
from tau.base.sizes import KIB, format_bytes
from tau.config.paths import Paths, project_folders

NAMES = ("AGENTS.md", "CLAUDE.md")
MAX_FILE_BYTES = 64 * KIB
MAX_TOTAL_BYTES = 4 * MAX_FILE_BYTES


class ContextFile(Struct, frozen=True):
    path: Path
    text: str


def find_context_files(
    cwd: Path, paths: Paths, warn: Callable[[str], None] | None = None
) -> list[ContextFile]:
    """Find the user's file, then those of the folders from the repository root down to `cwd`.

    Unreadable files are skipped and reported to `warn`. If the total is too long, the files nearest to `cwd`
    take precedence.
    """
    say = warn or (lambda message: None)
    seen: set[tuple[int, int]] = set()
    found: list[ContextFile] = []
    budget = MAX_TOTAL_BYTES
    for path in _candidates(cwd, paths, say):
        file = _read(path, min(budget, MAX_FILE_BYTES), seen, say)
        if file is not None:
            budget -= min(len(file.text.encode()), budget)
            found.append(file)
    return found[::-1]


def _candidates(cwd: Path, paths: Paths, warn: Callable[[str], None]) -> Iterator[Path]:
    """From `cwd` upwards, the user's file last."""
    folders = list(project_folders(cwd))
    root = folders[-1].resolve()
    for folder in folders:
        path = _context_file_in(folder)
        if path is None:
            continue
        # A repository must not make us read a file elsewhere on the user's disk.
        if path.resolve().is_relative_to(root):
            yield path
        else:
            warn(f"Skipped {path}: it links to {path.resolve()}, outside the project.")
    path = _context_file_in(paths.home)
    if path is not None:
        yield path


def _context_file_in(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if mode_of(folder / name)), None)


def _read(
    path: Path, limit: int, seen: set[tuple[int, int]], warn: Callable[[str], None]
) -> ContextFile | None:
    try:
        info = path.stat()
        if (info.st_dev, info.st_ino) in seen:
            return None
        seen.add((info.st_dev, info.st_ino))
        if not stat.S_ISREG(info.st_mode):
            warn(f"Skipped {path}: not a regular file.")
            return None
        with path.open("rb") as file:
            data = file.read(limit + 1)
        is_whole = len(data) <= limit
        text = codecs.getincrementaldecoder("utf-8")().decode(data[:limit], final=is_whole)
    except OSError as error:
        warn(f"Skipped {path}: {error.strerror or error}.")
        return None
    except UnicodeDecodeError:
        warn(f"Skipped {path}: not UTF-8 text.")
        return None
    if "\0" in text:
        warn(f"Skipped {path}: not UTF-8 text.")
        return None
    if not is_whole:
        part = f"{format_bytes(limit)} of {format_bytes(info.st_size)}"
        text += f"\n\n[{path.name} truncated: {part} shown]"
        warn(f"{path} is too long: only {part} used.")
    text = text.removeprefix("\ufeff").strip()
    return ContextFile(path, text) if text else None
