"""Query git about the files of a work tree without writing to the repository."""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from tau.base.files import make_private
from tau.base.run import Limits, Runner, capture
from tau.base.sizes import MIB
from tau.coding.undo.file_state import digest
from tau.coding.undo.git_index import TrackedFile, is_as_tracked, sizes_in, tracked_in
from tau.config.paths import repo_root

MAX_INDEX_BYTES = 64 * MIB  # some 600,000 files
MAX_SECONDS = 2.0
MAX_OUTPUT_BYTES = 32 * MIB
MAX_SUBMODULES = 64
_BLOBS_AT_ONCE = 500
_MODULE_PATH = rb"^\s*path\s*=\s*(.+?)\s*$"
_ENV = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# Inspecting a repository must not run programs named in its configuration.
MAX_QUICK_FILES = 1_000  # git itself is faster in larger work trees
MAX_QUICK_BYTES = 2 * MIB  # of the index
MAX_QUICK_CHANGES = 200
_GIT = ("git", "-c", "core.fsmonitor=false")


class GitUnavailable(Exception):
    """Git could not be queried; `str()` is the reason, as a clause."""


class DirtyFile(Struct, frozen=True):
    """A file that differs from the index: its name, and its mode and blob there (empty: untracked)."""

    name: str
    mode: int
    blob: str


class Repository:
    """A work tree, compared with the index as it was when `remember` was last called.

    The index is copied to our folder: what a command does to the original (add, commit, checkout) does
    not affect the comparison.
    """

    def __init__(self, root: Path, folder: Path, run: Runner) -> None:
        self.root = Path(os.path.realpath(root))
        self._run = run
        self._copy = folder / f"index-{digest(os.fsencode(self.root))[:16]}"
        self._signature: tuple[int, int, int] | None = None
        self._tracked: list[TrackedFile] | None = None  # of the copy, once read
        self._empty = True

    def remember(self) -> None:
        """Copy the index if it has changed. Raises OSError and GitUnavailable."""
        index = _git_folder(self.root) / "index"
        try:
            fd = os.open(index, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._empty = True
            return
        with open(fd, "rb") as file:  # noqa: PTH123 - it is a descriptor
            info = os.fstat(fd)
            signature = info.st_ino, info.st_size, info.st_mtime_ns
            if signature == self._signature:
                return
            if info.st_size > MAX_INDEX_BYTES:
                raise GitUnavailable("it has too many files")
            data = file.read()
        make_private(self._copy.parent)
        part = self._copy.with_name(self._copy.name + ".part")
        part.write_bytes(data)
        # Git uses this time to detect files changed right after the index was written.
        os.utime(part, ns=(info.st_atime_ns, info.st_mtime_ns))
        part.chmod(0o600)
        part.replace(self._copy)
        self._signature, self._empty, self._tracked = signature, False, None

    def recall(self) -> None:
        """Reuse the copy made by an earlier process."""
        self._empty, self._tracked = not self._copy.exists(), None

    async def changed(self) -> list[DirtyFile]:
        """List the files that differ, or may differ, from the remembered index. Raises GitUnavailable."""
        if self._empty:
            return []
        if (quick := self._quickly()) is not None:
            return quick
        words = ("diff-files", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
        fields = (await self._ask(words)).split(b"\0")
        entries: list[DirtyFile] = []
        for about, name in zip(fields[0::2], fields[1::2], strict=False):
            parts = about.split()
            if len(parts) != 5 or not about.startswith(b":"):
                raise GitUnavailable("its output was not understood")
            blob = parts[2].decode()
            known = parts[4] in (b"M", b"D", b"T") and set(blob) != {"0"}
            entries.append(DirtyFile(os.fsdecode(name), int(parts[0][1:], 8), blob if known else ""))
        return entries

    def _quickly(self) -> list[DirtyFile] | None:
        """Do the same without starting git, which takes milliseconds; None if git is needed."""
        if self._tracked is None:
            data = self._copy.read_bytes() if self._copy.stat().st_size <= MAX_QUICK_BYTES else b""
            self._tracked = (tracked_in(data) or []) if data else []
        if not 0 < len(self._tracked) <= MAX_QUICK_FILES:
            return None
        written_ns = self._copy.stat().st_mtime_ns
        root = os.fsencode(self.root) + b"/"
        entries: list[DirtyFile] = []
        for one in self._tracked:
            try:
                same = one.mtime_ns < written_ns and is_as_tracked(one, os.lstat(root + one.name))
            except OSError:
                same = False
            if not same:
                entries.append(DirtyFile(os.fsdecode(one.name), one.mode, one.blob))
                if len(entries) > MAX_QUICK_CHANGES:  # perhaps only because the index was written elsewhere
                    return None
        return entries

    async def contents(self, entries: Sequence[DirtyFile], max_bytes: int) -> dict[str, bytes]:
        """Return the former work tree contents of the entries, by name, as far as known.

        A blob that the work tree has in another form (filters) is left out, unless only its
        line endings differ; so is what does not fit into `max_bytes`.
        """
        wanted = [entry for entry in entries if entry.blob]
        sizes = sizes_in(self._copy.read_bytes(), {os.fsencode(entry.name) for entry in wanted})
        found: dict[str, bytes] = {}
        room = max_bytes
        for start in range(0, len(wanted), _BLOBS_AT_ONCE):
            part = [
                entry
                for entry in wanted[start : start + _BLOBS_AT_ONCE]
                if (room := room - (sizes.get(os.fsencode(entry.name)) or 0)) >= 0
            ]
            blobs = await self._blobs([entry.blob for entry in part], max_bytes)
            for entry in part:
                size = sizes.get(os.fsencode(entry.name))
                data = None if size is None else _in_work_tree(blobs.get(entry.blob), size)
                if data is not None:
                    found[entry.name] = data
        return found

    def submodules(self) -> list[Path]:
        """List the submodules that are checked out."""
        try:
            text = (self.root / ".gitmodules").read_bytes()
        except OSError:
            return []
        names = re.findall(_MODULE_PATH, text[:MIB], re.MULTILINE)[:MAX_SUBMODULES]
        paths = [self.root / os.fsdecode(name.strip(b'"')) for name in names]
        return [path for path in paths if (path / ".git").exists() and Path(os.path.realpath(path)) == path]

    async def _blobs(self, ids: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        if not ids:
            return {}
        answer = await self._ask(
            ("cat-file", "--batch"), "\n".join([*ids, ""]).encode(), max_bytes + 200 * len(ids)
        )
        blobs: dict[str, bytes] = {}
        at = 0
        while (end := answer.find(b"\n", at)) >= 0:
            head = answer[at:end].split()
            if len(head) != 3:  # missing
                at = end + 1
                continue
            size = int(head[2])
            blobs[head[0].decode()] = answer[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        return blobs

    async def _ask(
        self, words: Sequence[str], stdin: bytes | None = None, max_bytes: int = MAX_OUTPUT_BYTES
    ) -> bytes:
        env: Mapping[str, str] = {**_ENV, "GIT_INDEX_FILE": str(self._copy)}
        try:
            process = await self._run.start(
                (*_GIT, *words), cwd=self.root, env=env, limits=Limits(timeout=MAX_SECONDS), stdin=stdin
            )
        except OSError as error:
            raise GitUnavailable(f"git could not be started ({error.strerror or error})") from error
        async with process:
            captured = await capture(process, max_bytes=max_bytes)
        if captured.exit.timed_out:
            raise GitUnavailable(f"git did not answer within {MAX_SECONDS:g} s")
        if captured.exit.code != 0 or captured.dropped_bytes:
            raise GitUnavailable("git could not read it")
        return captured.output


def find_root(folder: Path) -> Path | None:
    """Find the work tree of a folder, unless the environment overrides git's lookup."""
    if "GIT_DIR" in os.environ or "GIT_WORK_TREE" in os.environ:
        return None
    found = repo_root(Path(os.path.realpath(folder)))
    return None if found is None else Path(os.path.realpath(found))


def _git_folder(root: Path) -> Path:
    """Return the git folder; in submodules and linked work trees `.git` is a file that names it."""
    place = root / ".git"
    with suppress(OSError):
        if stat.S_ISREG(place.stat().st_mode):
            line = place.read_bytes()[:4096].partition(b"\n")[0]
            if line.startswith(b"gitdir:"):
                return root / os.fsdecode(line.removeprefix(b"gitdir:").strip())
    return place


def _in_work_tree(blob: bytes | None, size: int) -> bytes | None:
    """Return the file's former bytes, given their size."""
    if blob is None or len(blob) == size:
        return blob
    crlf = blob.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return crlf if len(crlf) == size else None


MAX_REPOSITORIES = 16

Found: TypeAlias = tuple[Repository, DirtyFile]


class Repositories:
    """The watched repositories; `folder` holds the copies of their indexes."""

    def __init__(self, folder: Callable[[], Path], run: Runner, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._run = run
        self._tell = tell
        self._known: dict[Path, Repository] = {}
        self._silent: set[Path] = set()  # those that could not be queried
        self._looked_at: set[str] = set()  # folders with a known repository

    @property
    def roots(self) -> list[Path]:
        return list(self._known)

    def find(self, folders: Iterable[Path], read: Collection[str]) -> list[Path]:
        """Find the repositories of these folders and of folders that tau has read in; return the new ones.

        Includes their submodules.
        """
        known = set(self._known)
        places = [Path(os.path.realpath(folder)) for folder in folders]
        places += [Path(place) for place in sorted(set(read) - self._looked_at)]
        self._looked_at.update(read)
        for place in places:
            root = find_root(place)
            if root is not None:
                self._add(root)
        return [root for root in self._known if root not in known]

    def remember(self, roots: Iterable[Path] | None = None) -> None:
        """Take the current indexes as the baseline."""
        for root in self.roots if roots is None else roots:
            try:
                self._known[root].remember()
            except (OSError, GitUnavailable) as error:
                self.give_up(root, error)

    def recall(self, roots: Iterable[Path]) -> None:
        """Reuse the baseline of an earlier process."""
        for root in roots:
            self._known[root] = repository = Repository(root, self._folder(), self._run)
            repository.recall()

    async def changed(self, only: Collection[Path] | None = None) -> dict[str, Found]:
        """Return the files that differ from the baseline, by path."""
        found: dict[str, Found] = {}
        for root, repository in list(self._known.items()):
            if only is not None and root not in only:
                continue
            try:
                for entry in await repository.changed():
                    found[f"{repository.root}/{entry.name}"] = (repository, entry)
            except GitUnavailable as error:
                self.give_up(root, error)
        return found

    def give_up(self, root: Path, error: Exception) -> None:
        self._known.pop(root, None)
        self._silent.add(root)
        reason = getattr(error, "strerror", None) or error
        self._tell(
            f"Cannot watch the repository {root} because {reason}: undo covers changes by commands in it "
            "only for files that tau has read or changed."
        )

    def _add(self, root: Path) -> None:
        if root in self._known or root in self._silent:
            return
        if len(self._known) >= MAX_REPOSITORIES:
            self._tell(
                f"Commands are watched in at most {MAX_REPOSITORIES} repositories; elsewhere, undo covers "
                "changes only to files that tau has read."
            )
            return
        self._known[root] = repository = Repository(root, self._folder(), self._run)
        for path in repository.submodules():
            self._add(path)
