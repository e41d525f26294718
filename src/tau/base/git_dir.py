"""Finds and reads git directories without starting git."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tau.base.files import open_at_once
from tau.base.sizes import MIB

MAX_POINTER_BYTES = 4096
MAX_SUBMODULES = 64
_POINTER = "gitdir:"
_BRANCH = "ref: refs/heads/"
_MODULE_PATH = r"^\s*path\s*=\s*(.+?)\s*$"


class GitDir(Struct, frozen=True):
    """`own` has the index and HEAD of a work tree; `common` the rest, which linked work trees share."""

    own: Path
    common: Path


def git_dir(root: Path) -> GitDir:
    """The git directory of a work tree; in submodules and linked work trees the file `.git` names it."""
    own = root / ".git"
    if stat.S_ISREG(_mode(own)):
        line = read_start(own).partition("\n")[0]
        if line.startswith(_POINTER):
            own = root / line.removeprefix(_POINTER).strip()
    shared = read_start(own / "commondir").strip()
    return GitDir(own, own / shared if shared else own)


def shared_git_dir(root: Path) -> Path | None:
    """The git directory of a work tree, if it is in there or names the work tree as its own.

    Anything can name the git directory of another repository as its own, but not the other way round.
    """
    place, found = Path(os.path.realpath(root), ".git"), git_dir(root)
    common = Path(os.path.realpath(found.common))
    if common == place:
        return common
    own = Path(os.path.realpath(found.own))
    owner = read_start(own / "gitdir").strip()
    is_linked = own.parent == common / "worktrees" and os.path.realpath(own / owner) == str(place)
    return common if owner and is_linked else None


def branch_of(root: Path) -> str:
    """The checked-out branch of a work tree, or a short hash; reads at most three small files."""
    head = read_start(git_dir(root).own / "HEAD").strip().encode(errors="surrogateescape")
    text = head.decode(errors="replace")
    return text.removeprefix(_BRANCH) if text.startswith("ref: ") else text[:8]


def submodules(root: Path) -> list[Path]:
    """The submodules of a work tree that are checked out."""
    names = re.findall(_MODULE_PATH, read_start(root / ".gitmodules", MIB), re.MULTILINE)[:MAX_SUBMODULES]
    paths = [root / name.strip('"') for name in names]
    return [path for path in paths if _mode(path / ".git") and Path(os.path.realpath(path)) == path]


def is_git_file(path: Path) -> bool:
    """Whether a path is in a git directory, whatever its name: `git init --separate-git-dir`, a bare one."""
    return any(_is_git_dir(folder) for folder in path.parents)


def read_start(path: Path, max_bytes: int = MAX_POINTER_BYTES) -> str:
    """The beginning of a regular file; empty if there is none. Does not wait for a pipe."""
    try:
        with open(path, "rb", opener=open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(max_bytes).decode(errors="surrogateescape")
    except (OSError, ValueError):
        return ""


def shared_indexes(own: Path) -> Iterator[Path]:
    """The files that a split index refers to."""
    try:
        with os.scandir(own) as entries:
            names = [entry.name for entry in entries if entry.name.startswith("sharedindex.")]
    except OSError:
        names = []
    return (own / name for name in names)


def _is_git_dir(folder: Path) -> bool:
    return stat.S_ISREG(_mode(folder / "HEAD")) and (
        stat.S_ISDIR(_mode(folder / "objects")) or stat.S_ISREG(_mode(folder / "commondir"))
    )


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0
