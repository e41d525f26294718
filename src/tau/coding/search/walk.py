"""List the files below folders, respecting ignore files, without blocking the event loop."""

import os
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.late import late
from tau.coding.search.globs import BadGlob, to_regex, tool_matcher

asyncio = late("asyncio")  # searches without ripgrep start a process that needs no event loop

PAUSE_S = 0.005
PIECE_ENTRIES = 4096  # larger folders are yielded in pieces, so the caller can pause
_IGNORE_FILES = (".rgignore", ".ignore", ".gitignore")
MAX_IGNORE_FILE_BYTES = 1024 * 1024
_PLAIN_NAME = r"[^*?\[\]{}\\]+"
_PLAIN_ENDING = r"\*\.([^*?\[\]{}\\./]+)"


class IgnoreRules:
    """The rules of one ignore file, indexed for fast lookup. The last matching line wins."""

    def __init__(self, lines: Iterable[str], start: int, prefix: str = "") -> None:
        """Paths to check, cut at `start` and prefixed with `prefix`, are relative to the file's folder."""
        self._start = start
        self._prefix = prefix
        self._ignores: list[bool] = []
        self._names: dict[tuple[str, bool], int] = {}
        self._endings: dict[tuple[str, bool], int] = {}
        self._globs: list[tuple[int, bool, bool, re.Pattern[str]]] = []  # line, for folders only, by name
        for line in lines:
            self._add(line)
        self._globs.reverse()

    def __bool__(self) -> bool:
        return bool(self._ignores)

    def verdict(self, name: str, path: str, is_dir: bool) -> bool | None:
        """Return True if the entry is ignored, False if explicitly included, None if no line matches."""
        best = self._names.get((name, False), -1)
        ending = name.rpartition(".")
        if ending[1]:
            best = max(best, self._endings.get((ending[2], False), -1))
        if is_dir:
            best = max(best, self._names.get((name, True), -1))
            if ending[1]:
                best = max(best, self._endings.get((ending[2], True), -1))
        for index, only_dirs, by_name, glob in self._globs:
            if index < best:
                break
            if only_dirs and not is_dir:
                continue
            if glob.fullmatch(name if by_name else self._prefix + path[self._start :]):
                best = index
                break
        return None if best < 0 else self._ignores[best]

    def _add(self, line: str) -> None:
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            return
        if not line.endswith("\\ "):
            line = line.rstrip()
        ignores = not line.startswith("!")
        line = line[not ignores :]
        line = line[1:] if line.startswith(("\\!", "\\#")) else line
        anchored = line.startswith("/")
        line = line[anchored:]
        only_dirs = line.endswith("/")
        line = line[:-1] if only_dirs else line
        if not line:
            return
        index = len(self._ignores)
        by_name = not anchored and "/" not in line
        if by_name and re.fullmatch(_PLAIN_NAME, line):
            self._names[line, only_dirs] = index
        elif by_name and (ending := re.fullmatch(_PLAIN_ENDING, line)):
            self._endings[ending[1], only_dirs] = index
        else:
            glob = f"{line}/*" if line.endswith("/**") else line
            try:
                compiled = re.compile(to_regex(glob), re.DOTALL)
            except BadGlob:
                return
            self._globs.append((index, only_dirs, by_name, compiled))
        self._ignores.append(ignores)


def load_rules(file: Path, start: int, prefix: str = "") -> IgnoreRules | None:
    """Load the rules of a file; None if it has none or is unreadable."""
    try:
        if not file.is_file() or file.stat().st_size > MAX_IGNORE_FILE_BYTES:
            return None
        text = file.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError:
        return None
    return IgnoreRules(text.split("\n"), start, prefix) or None


class FolderEntries(Struct, frozen=True, gc=False):
    """Entries of one folder. `unreadable` says why there are none."""

    folder: str
    entries: Sequence["os.DirEntry[str]"] = ()
    unreadable: str = ""


class _Frame(Struct, frozen=True):
    """The rules in effect in a folder, by kind: the first kind with a verdict decides."""

    kinds: tuple[tuple[IgnoreRules, ...], ...] = ((), (), (), ())  # each nearest folder first

    @property
    def idle(self) -> bool:
        return not any(self.kinds)

    def ignores(self, name: str, path: str, is_dir: bool) -> bool:
        for chain in self.kinds:
            for rules in chain:
                verdict = rules.verdict(name, path, is_dir)
                if verdict is not None:
                    return verdict
        return False


def tree(
    root: str, *, hidden: bool = True, gitignore: bool = True, max_depth: int | None = None
) -> Iterator[FolderEntries]:
    """Yield the folders below `root`, with their entries that are not ignored."""
    frame = _above(root) if gitignore else _Frame()
    waiting = [(root, frame, 1)]
    while waiting:
        folder, frame, depth = waiting.pop()
        try:
            with os.scandir(folder) as scanned:
                entries = list(scanned)
        except OSError as error:
            yield FolderEntries(folder, unreadable=error.strerror or str(error))
            continue
        if gitignore:
            names = [entry.name for entry in entries]
            frame = _inside(frame, Path(folder), names, len(folder.rstrip("/")) + 1)
        kept, folders = _filter_entries(entries, frame, hidden)
        if max_depth is None or depth < max_depth:
            waiting += [(entry.path, frame, depth + 1) for entry in reversed(folders)]
        for start in range(0, len(kept), PIECE_ENTRIES):
            yield FolderEntries(folder, kept[start : start + PIECE_ENTRIES])
        if not kept:
            yield FolderEntries(folder)


def _filter_entries(
    entries: list["os.DirEntry[str]"], frame: _Frame, hidden: bool
) -> tuple[list["os.DirEntry[str]"], list["os.DirEntry[str]"]]:
    kept: list[os.DirEntry[str]] = []
    folders: list[os.DirEntry[str]] = []
    judged = not frame.idle
    for entry in entries:
        name = entry.name
        if name[0] == "." and (not hidden or name == ".git"):
            continue
        is_dir = entry.is_dir(follow_symlinks=False)
        if judged and frame.ignores(name, entry.path, is_dir):
            continue
        kept.append(entry)
        if is_dir:
            folders.append(entry)
    return kept, folders


def _inside(frame: _Frame, folder: Path, names: list[str], start: int, prefix: str = "") -> _Frame:
    """Return the rules in effect in a folder with these entries; git's rules stop at a nested repository."""
    wanted = [name for name in names if name[0] == "." and (name == ".git" or name in _IGNORE_FILES)]
    if not wanted:
        return frame
    kinds = list(frame.kinds)
    if ".git" in wanted:
        own = load_rules(_git_folder(folder / ".git") / "info" / "exclude", start, prefix)
        kinds[2:] = [(), () if own is None else (own,)]
    for kind, name in enumerate(_IGNORE_FILES):
        if name in wanted and (rules := load_rules(folder / name, start, prefix)) is not None:
            kinds[kind] = (rules, *kinds[kind])
    return _Frame(tuple(kinds))


def _above(root: str) -> _Frame:
    """Load the rules of the folders above `root`."""
    frame = _Frame()
    real = Path(os.path.realpath(root))
    for parent in reversed(real.parents):
        names = [name for name in (*_IGNORE_FILES, ".git") if os.path.lexists(parent / name)]
        if names:
            prefix = f"{real.relative_to(parent)}/"
            frame = _inside(frame, parent, names, len(root.rstrip("/")) + 1, prefix)
    return frame


def _git_folder(path: Path) -> Path:
    """Find the git folder; in a worktree, `.git` is a file and `commondir` names the shared folder."""
    if not path.is_file():
        return path
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        folder = path.parent / text.removeprefix("gitdir:").strip()
        return folder / (folder / "commondir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return path


async def walk(
    roots: Sequence[Path],
    *,
    globs: Sequence[str] = (),
    hidden: bool = True,
    gitignore: bool = True,
    limit: int | None = None,
) -> list[Path]:
    """List the files below the roots (or roots that are files), sorted and unique, at most `limit`.

    `globs` match the path below the root. Links are neither followed nor listed; unreadable
    folders are skipped. Raises ToolError for an invalid glob.
    """
    wanted = tool_matcher(globs or ("**",))
    found: set[str] = set()
    for root in map(str, roots):
        if not Path(root).is_dir():
            found.update([root] if Path(root).is_file() else [])
            continue
        start = len(root.rstrip("/")) + 1
        async for piece in pieces(root, hidden=hidden, gitignore=gitignore):
            found.update(
                entry.path
                for entry in piece.entries
                if entry.is_file(follow_symlinks=False) and wanted(entry.path[start:])
            )
            if limit is not None and len(found) >= limit:
                return [Path(path) for path in sorted(found)[:limit]]
    return [Path(path) for path in sorted(found)]


async def pieces(
    root: str | os.PathLike[str],
    *,
    hidden: bool = True,
    gitignore: bool = True,
    max_depth: int | None = None,
    deadline: float | None = None,
) -> AsyncIterator[FolderEntries]:
    """Like `tree`, pausing every few milliseconds. Raises TimeoutError at `deadline` (time.monotonic)."""
    rested = time.monotonic()
    for piece in tree(os.fspath(root), hidden=hidden, gitignore=gitignore, max_depth=max_depth):
        yield piece
        now = time.monotonic()
        if deadline is not None and now > deadline:
            raise TimeoutError
        if now - rested > PAUSE_S:
            await asyncio.sleep(0)
            rested = time.monotonic()
