"""Query git, or read its index, about the files of a work tree without writing to the repository."""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, TypeVar

from msgspec import Struct

from tau.base.files import make_private
from tau.base.git_dir import git_dir, submodules
from tau.base.late import late
from tau.base.run import OUTSIDE, Limits, Runner, capture
from tau.base.sizes import MIB
from tau.coding.undo.file_state import digest
from tau.config.paths import repo_root

git = late("tau.base.git")

MAX_INDEX_BYTES = 64 * MIB  # some 600,000 files
MAX_SECONDS = 2.0
MAX_OUTPUT_BYTES = 32 * MIB
_BLOBS_AT_ONCE = 500
MAX_QUICK_FILES = 1_000  # git itself is faster in larger work trees
MAX_QUICK_BYTES = 2 * MIB  # of the index
MAX_QUICK_CHANGES = 200
_SIGNATURE = b"DIRC"
_HASH_BYTES = (20, 32)  # SHA-1, SHA-256
_STAT_BYTES = 40
_EXTENDED = 0x4000
_NAME_BYTES = 0x0FFF
_VALID, _STAGE = 0x8000, 0x3000
_SUBMODULE = 0o160000
_LOW = 0xFFFF_FFFF  # the index stores only these bits of a number
_NS = 1_000_000_000


T = TypeVar("T")


class TrackedFile(Struct, frozen=True, gc=False):
    """A file in the index. `stat_key` holds its stat: change times, inode, owner, size."""

    name: bytes
    mode: int
    blob: str
    stat_key: tuple[int, ...]
    mtime_ns: int


def tracked_in(data: bytes) -> list[TrackedFile] | None:
    """List all files of an index; None if unsupported (merges, sparse or split indexes)."""
    return _parse_index(data, lambda hash_bytes: _all_tracked(data, hash_bytes))


def sizes_in(data: bytes, names: Collection[bytes]) -> dict[bytes, int]:
    """Return the sizes of these files as far as known; empty for an unreadable index."""
    return _parse_index(data, lambda hash_bytes: _sizes(data, names, hash_bytes)) or {}


def _parse_index(data: bytes, parse: Callable[[int], T]) -> T | None:
    """Parse with either hash size: the index does not say which it has. None if unreadable."""
    if data[:4] == _SIGNATURE and int.from_bytes(data[4:8], "big") in (2, 3, 4):
        for hash_bytes in _HASH_BYTES:
            with suppress(IndexError, ValueError):
                return parse(hash_bytes)
    return None


def _all_tracked(data: bytes, hash_bytes: int) -> list[TrackedFile] | None:
    tracked: list[TrackedFile] = []
    end = 12
    for start, after, flags, name in _entries(data, hash_bytes):
        end = after
        mode = int.from_bytes(data[start + 24 : start + 28], "big")
        if flags & (_VALID | _EXTENDED | _STAGE) or stat.S_ISDIR(mode):
            return None
        if mode == _SUBMODULE:
            continue
        numbers = [int.from_bytes(data[at : at + 4], "big") for at in range(start, start + _STAT_BYTES, 4)]
        ctime_s, ctime_ns, mtime_s, mtime_ns, _, inode, _, uid, gid, size = numbers
        blob = data[start + _STAT_BYTES : start + _STAT_BYTES + hash_bytes].hex()
        stat_key = (ctime_s * _NS + ctime_ns, mtime_s * _NS + mtime_ns, inode, uid, gid, size)
        tracked.append(TrackedFile(name, mode, blob, stat_key, stat_key[1]))
    while end < len(data) - hash_bytes:
        if data[end : end + 4] in (b"link", b"sdir"):
            return None
        end += 8 + int.from_bytes(data[end + 4 : end + 8], "big")
    return tracked


def is_as_tracked(one: TrackedFile, info: os.stat_result) -> bool:
    """Whether a file's stat is unchanged since git last checked it."""
    stat_key = (
        info.st_ctime_ns,
        info.st_mtime_ns,
        info.st_ino & _LOW,
        info.st_uid & _LOW,
        info.st_gid & _LOW,
        info.st_size & _LOW,
    )
    if stat_key != one.stat_key:
        return False
    if stat.S_ISLNK(one.mode) or not stat.S_ISREG(info.st_mode):
        return stat.S_ISLNK(one.mode) and stat.S_ISLNK(info.st_mode)
    return bool(one.mode & 0o100) == bool(info.st_mode & 0o100)


def _sizes(data: bytes, names: Collection[bytes], hash_bytes: int) -> dict[bytes, int]:
    return {
        name: int.from_bytes(data[start + 36 : start + 40], "big")
        for start, _, flags, name in _entries(data, hash_bytes)
        if name in names and not flags & _STAGE  # in a merge, none of the stages is the file's
    }


def _entries(data: bytes, hash_bytes: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield the start, end, flags and name of each entry."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    at, name, end_of_data = 12, b"", len(data) - hash_bytes
    for _ in range(count):
        start = at
        at += _STAT_BYTES + hash_bytes
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if flags & _EXTENDED else 2
        if version == 4:
            cut, at = _varint(data, at)
            kept = name[: len(name) - cut]
        else:
            kept = b""
        end = data.index(b"\0", at)
        name = kept + data[at:end]
        # The length is stored twice, which verifies the guessed hash size.
        if len(name) != flags & _NAME_BYTES and len(name) < _NAME_BYTES:
            raise ValueError("not an entry")
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        if at > end_of_data:
            raise ValueError("cut off")
        yield start, at, flags, name


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a number in git's encoding; return it and its end."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


class GitUnavailable(Exception):
    """Git could not be queried; `str()` is the reason, as a clause."""


class DirtyFile(Struct, frozen=True):
    """A file that differs from the index: its name, and its mode and blob there (empty: untracked).

    `permissions` are those it had when it was last unchanged, if known: git stores only one bit of them.
    """

    name: str
    mode: int
    blob: str
    permissions: int | None = None


class Repository:
    """A work tree, compared with the index as it was when `remember` was last called.

    The index is copied to our folder: what a command does to the original (add, commit, checkout) does
    not affect the comparison.
    """

    def __init__(self, root: Path, folder: Path, run: Runner) -> None:
        self.root = Path(os.path.realpath(root))
        self._run = run
        name = digest(os.fsencode(self.root))[:16]
        self._copy = folder / f"index-{name}"
        self._git_folder = folder / f"git-{name}"
        self._signature: tuple[int, int, int] | None = None
        self._tracked: list[TrackedFile] | None = None  # of the copy, once read
        self._permissions: dict[bytes, int] = {}
        self._empty = True

    def remember(self) -> None:
        """Copy the index if it has changed. Raises OSError and GitUnavailable."""
        index = git_dir(self.root).own / "index"
        try:
            fd = os.open(index, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            self._empty = True
            return
        with open(fd, "rb") as file:  # noqa: PTH123 - it is a descriptor
            info = os.fstat(fd)
            signature = info.st_ino, info.st_size, info.st_mtime_ns
            if signature == self._signature:
                return
            if not stat.S_ISREG(info.st_mode):
                raise GitUnavailable("its index is not a file")
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
        if (quick := self._changed_by_stat()) is not None:
            return quick
        words = ("diff-files", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
        fields = (await self._git(words)).split(b"\0")
        entries: list[DirtyFile] = []
        for about, name in zip(fields[0::2], fields[1::2], strict=False):
            parts = about.split()
            if len(parts) != 5 or not about.startswith(b":"):
                raise GitUnavailable("its output was not understood")
            blob = parts[2].decode()
            known = parts[4] in (b"M", b"D", b"T") and set(blob) != {"0"}
            entries.append(DirtyFile(os.fsdecode(name), int(parts[0][1:], 8), blob if known else ""))
        return entries

    def _changed_by_stat(self) -> list[DirtyFile] | None:
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
                info = os.lstat(root + one.name)
                same = one.mtime_ns < written_ns and is_as_tracked(one, info)
            except OSError:
                same = False
            if same:
                self._permissions[one.name] = stat.S_IMODE(info.st_mode)
            else:
                known = self._permissions.get(one.name)
                entries.append(DirtyFile(os.fsdecode(one.name), one.mode, one.blob, known))
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

    async def _blobs(self, ids: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        if not ids:
            return {}
        answer = await self._git(
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

    async def _git(
        self, words: Sequence[str], stdin: bytes | None = None, max_bytes: int = MAX_OUTPUT_BYTES
    ) -> bytes:
        try:
            view = git.open_git_view(self.root, self._git_folder)
            process = await self._run.start(
                view.command(*words),
                cwd=self.root,
                env=view.env(index=self._copy),
                limits=Limits(timeout=MAX_SECONDS),
                stdin=stdin,
                sandbox=OUTSIDE,
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
    """Find the work tree of a real folder, unless the environment overrides git's lookup."""
    if "GIT_DIR" in os.environ or "GIT_WORK_TREE" in os.environ:
        return None
    return repo_root(folder)


def _in_work_tree(blob: bytes | None, size: int) -> bytes | None:
    """Return the file's former bytes, given their size."""
    if blob is None or len(blob) == size:
        return blob
    crlf = blob.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return crlf if len(crlf) == size else None


MAX_REPOSITORIES = 16

RepositoryFile: TypeAlias = tuple[Repository, DirtyFile]


class Repositories:
    """The watched repositories; `folder` holds the copies of their indexes."""

    def __init__(self, folder: Callable[[], Path], run: Runner, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._run = run
        self._warn = warn
        self._known: dict[Path, Repository] = {}
        self._failed: set[Path] = set()  # those that could not be queried
        self._searched: set[str] = set()  # folders with a known repository

    @property
    def roots(self) -> list[Path]:
        return list(self._known)

    def find(self, folders: Iterable[str], read: Collection[str]) -> list[Path]:
        """Find the repositories of these folders and of folders that tau has read in; return the new ones.

        All are real paths. Includes their submodules.
        """
        known = set(self._known)
        places = [*folders, *sorted(set(read) - self._searched)]
        self._searched.update(read)
        for place in dict.fromkeys(places):
            root = find_root(Path(place))
            if root is not None:
                self._add(root)
        return [root for root in self._known if root not in known]

    def remember(self, roots: Iterable[Path] | None = None) -> None:
        """Take the current indexes as the baseline."""
        for root in self.roots if roots is None else roots:
            try:
                self._known[root].remember()
            except (OSError, GitUnavailable) as error:
                self.exclude(root, error)

    def recall(self, roots: Iterable[Path]) -> None:
        """Reuse the baseline of an earlier process."""
        for root in roots:
            self._known[root] = repository = Repository(root, self._folder(), self._run)
            repository.recall()

    async def changed(self, only: Collection[Path] | None = None) -> dict[str, RepositoryFile]:
        """Return the files that differ from the baseline, by path."""
        changed: dict[str, RepositoryFile] = {}
        for root, repository in list(self._known.items()):
            if only is not None and root not in only:
                continue
            try:
                for entry in await repository.changed():
                    changed[f"{repository.root}/{entry.name}"] = (repository, entry)
            except GitUnavailable as error:
                self.exclude(root, error)
        return changed

    def exclude(self, root: Path, error: Exception) -> None:
        """Stop watching a repository, with a warning."""
        self._known.pop(root, None)
        self._failed.add(root)
        reason = getattr(error, "strerror", None) or error
        self._warn(
            f"Cannot watch the repository {root} because {reason}: undo covers changes by commands in it "
            "only for files that tau has read or changed."
        )

    def _add(self, root: Path) -> None:
        if root in self._known or root in self._failed:
            return
        if len(self._known) >= MAX_REPOSITORIES:
            self._warn(
                f"Commands are watched in at most {MAX_REPOSITORIES} repositories; elsewhere, undo covers "
                "changes only to files that tau has read."
            )
            return
        self._known[root] = Repository(root, self._folder(), self._run)
        for path in submodules(root):
            self._add(path)
