"""Git repositories in a workspace, and the files in them that run programs."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from tau.backends.sandbox.mounts import GuardedFiles
from tau.backends.sandbox.policy import is_within, real_folder
from tau.base.files import mode_of
from tau.base.git_dir import read_start
from tau.base.sizes import MIB

MAX_FOLDERS = 1000  # of a workspace are searched for repositories
MAX_DEPTH = 8
MAX_CONFIG_BYTES = MIB
SKIPPED = {"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".mypy_cache", ".ruff_cache"}
# Files of a Git folder that name programs, or other folders that do.
GUARDED = ("config", "config.worktree", "hooks", "info/attributes", "commondir", "gitdir")
_BARE = {"HEAD", "objects", "refs"}
_BARE_FOLDERS = {"objects", "refs", "logs", "hooks", "info", "branches", "modules", "worktrees"}


class FolderTree:
    """Folders of a workspace and when each last changed, to find new repositories without a new search.

    The time is that of the inode, which programs cannot set.
    """

    def __init__(self) -> None:
        self._changed_ns: dict[str, int] = {}
        self.is_complete = True

    def search(self, folder: str, depth: int = 0) -> Iterator[str]:
        """Remember a folder and those below; yield each `.git`, and each folder that is a repository."""
        level = [folder]
        for _ in range(depth, MAX_DEPTH):
            inner: list[str] = []
            for one in level:
                if len(self._changed_ns) >= MAX_FOLDERS:
                    self.is_complete = False
                    return
                yield from self._look(one, inner)
            level = inner
        self.is_complete &= not level

    def search_changed(self) -> Iterator[str]:
        """Yield the repositories in changed folders; all new ones are among them."""
        for folder, changed_ns in list(self._changed_ns.items()):
            try:
                now_ns = os.lstat(folder).st_ctime_ns
            except OSError:
                del self._changed_ns[folder]
                continue
            if now_ns == changed_ns:
                continue
            if os.path.realpath(folder) != folder:  # a link took the place of it or of a folder above
                del self._changed_ns[folder]
                continue
            inner: list[str] = []
            yield from self._look(folder, inner)
            for one in inner:
                if one not in self._changed_ns:
                    yield from self.search(one, 1)

    def _look(self, folder: str, inner: list[str]) -> Iterator[str]:
        """Yield what is a repository in a folder; adds its folders to `inner`."""
        names = set()
        try:
            self._changed_ns[folder] = os.lstat(folder).st_ctime_ns
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.name == ".git":
                        yield entry.path
                    elif entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED:
                        inner.append(entry.path)
        except OSError:
            return
        if names >= _BARE:
            yield folder  # anybody can make a folder look like one, so others below it count too
            inner[:] = [one for one in inner if one.rpartition("/")[2] not in _BARE_FOLDERS]


def find_git_files(place: Path, roots: Sequence[Path]) -> GuardedFiles | None:
    """The folders and guarded files of the repository with this `.git`, which may be a file or a link.

    A folder outside `roots` that does not claim this `.git` is none of them: any file can point there.
    """
    folder, pointers = place, []
    if place.is_symlink():
        folder = real_folder(place)
    elif stat.S_ISREG(mode_of(place)):
        pointers.append(place)
        folder = named_folder(place, place.parent, "gitdir:") or place
    if not mode_of(folder / "HEAD"):
        return GuardedFiles(folders=(), guarded=tuple(pointers)) if pointers else None
    common = named_folder(folder / "commondir", folder) or folder
    if not _is_claimed(place, folder, common, roots):
        return GuardedFiles(folders=(), guarded=tuple(pointers)) if pointers else None
    folders = tuple(dict.fromkeys((common, folder)))
    guarded = [*pointers]
    for one in (*folders, *_inner(common / "modules"), *_inner(common / "worktrees")):
        guarded += [path for name in GUARDED if os.path.lexists(path := one / name)]
    return GuardedFiles(folders=folders, guarded=tuple(dict.fromkeys(guarded)))


def git_folders(place: Path, roots: Sequence[Path]) -> list[Path]:
    """All Git folders of a repository: its own, the common one, those of submodules and worktrees."""
    files = find_git_files(place, roots)
    if files is None:
        return []
    inner = [
        one for folder in files.folders for name in ("modules", "worktrees") for one in _inner(folder / name)
    ]
    return list(dict.fromkeys((*files.folders, *inner)))


def _is_claimed(place: Path, folder: Path, common: Path, roots: Sequence[Path]) -> bool:
    """Whether Git folders are in the workspace, or name this `.git` as theirs, as Git makes them do."""
    if is_within(folder, roots):
        return is_within(common, roots)
    if folder == common:  # of a submodule
        text = read_start(folder / "config", MAX_CONFIG_BYTES)
        trees = re.findall(r"^\s*worktree\s*=\s*(.+?)\s*$", text, re.MULTILINE | re.IGNORECASE)
        return any(real_folder(folder / tree.strip('"')) == real_folder(place.parent) for tree in trees)
    owner = named_folder(folder / "gitdir", folder)  # of a linked worktree
    return folder.parent == common / "worktrees" and owner == real_folder(place)


def _inner(folder: Path) -> list[Path]:
    """Git folders below `modules` or `worktrees`."""
    try:
        entries = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    found = []
    for entry in entries:
        found += [entry] if mode_of(entry / "HEAD") else _inner(entry)
    return found


def named_folder(file: Path, base: Path, prefix: str = "") -> Path | None:
    """The folder that a pointer file names."""
    text = read_start(file)
    if not text.strip() or not text.startswith(prefix):
        return None
    return real_folder(base / text[len(prefix) :].strip())
