"""Finds what commands did to Git files that run programs: undoes it, or disables it until it is kept.

In a sandbox with mounts, such files are read-only, and only new ones are found here. Landlock has no
read-only part of a writable folder; there, changed ones are restored after each command, and so are settings
of agents.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from msgspec import Struct

from tau.backends.sandbox.agent_files import files_of, find_agent_files
from tau.backends.sandbox.guard_records import GuardRecord
from tau.backends.sandbox.mounts import GuardedFiles
from tau.backends.sandbox.policy import is_within
from tau.backends.sandbox.repositories import FolderTree, find_git_files, git_folders
from tau.base.exact_paths import pinned
from tau.base.files import mode_of, write_atomic
from tau.base.git_dir import read_start
from tau.base.late import late
from tau.base.sizes import MIB

git_config = late("tau.backends.sandbox.git_config")

MAX_FILE_BYTES = MIB
MAX_HOOKS = 200
DISABLED = ".disabled"
_CONFIGS = ("config", "config.worktree")
_SINGLE = (*_CONFIGS, "info/attributes", "commondir", "gitdir")


class RememberedFile(Struct, frozen=True):
    """A file as it was. A text that is too large to keep is None, and `stamp` changes whenever it does."""

    text: bytes | None
    mode: int
    stamp: str = ""


_TOO_MANY = (
    "The workspace now has more or deeper folders than tau searches for new Git repositories; "
    "look for hooks and settings before you run Git in one."
)


class GitGuard:
    """One per sandbox. Call `find` before it starts, `check` after each command."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)
        self._tree = FolderTree()
        self._places: dict[Path, tuple[int, ...]] = {}  # each `.git`, and what identifies it
        self._folders: dict[Path, int] = {}  # each Git folder
        self._files: dict[Path, RememberedFile] = {}  # as they were, or as the user wants them
        self._seen: dict[Path, int] = {}  # when new files were last judged
        self.agents = GuardedFiles(folders=(), guarded=())  # their settings in the workspace
        self.restores = False
        self._found_all = False  # at the last `find`

    @property
    def is_complete(self) -> bool:
        """Whether all folders of the workspace were searched."""
        return self._tree.is_complete

    def change_roots(self, roots: Sequence[Path]) -> None:
        """Search other folders from the next `find` on."""
        self._roots = tuple(roots)

    def find(self) -> list[GuardedFiles]:
        """Find the repositories and settings of agents; what they contain now is accepted."""
        found = {}
        self._tree = FolderTree()
        searched = (self._tree.search(str(root)) for root in self._roots)
        # Commands can make so many folders that a search ends before it comes to those known.
        for place in dict.fromkeys((*map(Path, chain.from_iterable(searched)), *self._places)):
            if (files := find_git_files(place, self._roots)) is not None:
                found[place] = files
        self._found_all = self._tree.is_complete
        for place in found:
            if place not in self._places:
                self._accept(place)
        self.agents = find_agent_files((*self._roots, *(place.parent for place in found)), self._roots)
        for path in files_of(self.agents.guarded) if self.restores else ():
            if path not in self._files:
                self._remember(path)
        return list(found.values())

    def check(self) -> list[str]:
        """Undo or disable what commands did since the last check; returns a sentence for each."""
        notes: list[str] = []
        for place in map(Path, self._tree.search_changed()):
            if self._places.get(place) != (identity := identity_of(place)):
                known = place in self._places
                self._places[place] = identity
                for folder in git_folders(place, self._roots):
                    self._folders.setdefault(folder, 0)
                notes.append(f"{'Replaced' if known else 'New'} Git repository: {_tree_of(place)}.")
        if self._found_all and not self._tree.is_complete:
            self._found_all = False
            notes.append(_TOO_MANY)
        for folder in list(self._folders):
            notes += self._check_folder(folder)
        if self.restores:
            notes += self._restore()
        return notes

    def record(self, missing: Sequence[Path] = ()) -> GuardRecord:
        """What is accepted now, for a session after this one. `missing` are startup files."""
        return GuardRecord(
            roots=tuple(map(str, self._roots)),
            places=tuple(map(str, self._places)),
            files={str(path): _digest(path, file) for path, file in self._files.items()},
            missing=tuple(map(str, missing)),
        )

    def keep(self, path: Path) -> None:
        """Accept a file that was disabled, as the user wants it."""
        aside = path.with_name(path.name + DISABLED)
        if aside.exists():
            aside.replace(path)
        elif path.parent.name == "hooks":
            path.chmod(path.stat().st_mode | 0o111)
        self._remember(path)

    def _accept(self, place: Path) -> None:
        self._places[place] = identity_of(place)
        if stat.S_ISREG(mode_of(place)):
            self._remember(place)
        for folder in git_folders(place, self._roots):
            self._folders[folder] = 0
            for path in _guarded_in(folder):
                self._remember(path)

    def _remember(self, path: Path) -> None:
        with suppress(OSError):
            self._files[path] = _read(path)
            self._seen[path] = path.lstat().st_ctime_ns

    def _check_folder(self, folder: Path) -> Iterator[str]:
        """Disable what is new in a Git folder and could run a program.

        A known file can be new too, even if it was mounted read-only: a command can move a folder above it,
        and a program outside that replaces it ends its mount.
        """
        for path in _guarded_in(folder):
            known = self._files.get(path)
            if known is not None and self.restores:
                continue
            with suppress(OSError):
                changed_ns = path.lstat().st_ctime_ns
                if self._seen.get(path) == changed_ns:
                    continue
                is_same = known is not None and _digest(path, known) == _digest(path, _read(path))
                if not is_same and _disable(path):
                    yield _disabled_note(path)
                if os.path.lexists(path):
                    self._seen[path] = path.lstat().st_ctime_ns

    def _restore(self) -> Iterator[str]:
        for path, known in self._files.items():
            try:
                info = path.lstat()
                same = stat.S_ISREG(info.st_mode) and (
                    self._seen.get(path) == info.st_ctime_ns or _read(path) == known
                )
            except OSError:
                same = False
            if not same:
                with suppress(OSError):
                    yield self._restore_file(path, known)
            with suppress(OSError):
                self._seen[path] = path.lstat().st_ctime_ns

    def _restore_file(self, path: Path, known: RememberedFile) -> str:
        """Restore a file that was changed; one too large to keep is set aside instead."""
        is_agents = is_within(path, self.agents.guarded)
        aside = path.with_name(path.name + DISABLED)
        if os.path.lexists(path) and (
            known.text is None or is_agents or not stat.S_ISREG(path.lstat().st_mode)
        ):
            path.rename(aside)
        if known.text is None:
            return f"{path} was changed by the command and is too large to restore; it is now {aside.name}."
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, known.text, mode=known.mode)
        # The user may have changed it meanwhile.
        kept = f" The changed file is {aside.name}." if is_agents and os.path.lexists(aside) else ""
        return f"{path} was changed by the command; its previous content is restored.{kept}"


def _tree_of(place: Path) -> Path:
    """The folder with this `.git`; a bare repository is one itself."""
    return place.parent if place.name == ".git" else place


def judge_leftovers(record: GuardRecord) -> Iterator[str]:
    """Disable what the commands of a killed session created; yields a sentence for each."""
    roots = [Path(root) for root in record.roots]
    tree = FolderTree()
    searched = chain.from_iterable(tree.search(root) for root in record.roots)
    for place in map(Path, dict.fromkeys((*searched, *record.places))):
        if str(place) not in record.places:
            yield f"New Git repository: {_tree_of(place)}."
        for folder in git_folders(place, roots):
            for path in _guarded_in(folder):
                with suppress(OSError):
                    is_same = record.files.get(str(path)) == _digest(path, _read(path))
                    if not is_same and _disable(path):
                        yield _disabled_note(path)


def _read(path: Path) -> RememberedFile:
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if info.st_size <= MAX_FILE_BYTES:
        return RememberedFile(path.read_bytes(), mode)
    # The time is that of the inode, which programs cannot set.
    return RememberedFile(None, mode, f"{info.st_ino} {info.st_size} {info.st_ctime_ns}")


def _digest(path: Path, file: RememberedFile) -> str:
    """Of what could run a program: `git remote add` does not change it."""
    text = file.text or b""
    if path.name in _CONFIGS:
        harmful = git_config.list_harmful(text.decode("utf-8", "surrogateescape"))
        return hashlib.sha256("\n".join(harmful).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{file.mode:o} {file.stamp or hashlib.sha256(text).hexdigest()}"


def _disabled_note(path: Path) -> str:
    return f"{path} is new and could run programs; it is disabled until you keep it."


def _guarded_in(folder: Path) -> Iterator[Path]:
    """The guarded files of a Git folder that exist; of hooks, those that Git would run."""
    place = str(folder)  # most of these do not exist: no path is made for them
    for name in _SINGLE:
        if os.path.lexists(f"{place}/{name}"):
            yield folder / name
    hooks = f"{place}/hooks"
    with suppress(OSError):
        if stat.S_ISLNK(os.lstat(hooks).st_mode):
            yield Path(hooks)
            return
        with os.scandir(hooks) as entries:
            names = [entry.name for entry in entries if not entry.name.endswith((".sample", DISABLED))]
        yield from (folder / "hooks" / name for name in sorted(names)[:MAX_HOOKS])


def _disable(path: Path) -> bool:
    """Disable a new file if it could run a program; returns whether it could."""
    with pinned(path.parent) as folder:  # a command that still runs may put a link in its place
        return _disable_in(folder / path.name, is_hook=path.parent.name == "hooks")


def _disable_in(path: Path, *, is_hook: bool) -> bool:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode) or path.name == "commondir":
        if path.name == "commondir" and read_start(path).strip() == "../..":
            return False  # of a new worktree, made by Git
        path.rename(path.with_name(path.name + DISABLED))
        return True
    if is_hook:
        if not info.st_mode & 0o111:
            return False
        path.rename(aside := path.with_name(path.name + DISABLED))
        with suppress(OSError):
            _drop_execute_permission(aside)
            aside.rename(path)
        return True
    if path.name in _CONFIGS and info.st_size <= MAX_FILE_BYTES:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if git_config.is_harmless(text):
            return False
        path.rename(path.with_name(path.name + DISABLED))
        write_atomic(path, git_config.keep_harmless(text).encode("utf-8", "surrogateescape"), mode=0o644)
        return True
    return False


def _drop_execute_permission(path: Path) -> None:
    """Of the file itself: a link is an error."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) & ~0o111)
    finally:
        os.close(fd)


def identity_of(place: Path | str) -> tuple[int, ...]:
    """What changes when a path is replaced; the content of a folder changes all the time."""
    try:
        info = os.lstat(place)
    except OSError:
        return ()
    return info.st_dev, info.st_ino, stat.S_IFMT(info.st_mode)
