"""Binds a call to its approved effects: its ports ask here before they touch anything."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tau.agent.effects import Effects
from tau.agent.ports import DirectoryScan, FileSystem, Stat
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened

MAX_FOLDERS = 10_000  # whose real path is remembered
MAX_PATH_CHARS = 4096  # no system opens a longer one
NAMED_CHARS = 300


class ApprovedEffects:
    """What one call may touch. Paths are compared by where they really lead.

    Everything that opens a file itself, instead of through `ctx.fs`, gets its path from `read` or `write`
    and opens that one: it contains no links. Without `effects`, anything is approved. `denies` says which
    real paths are never approved, even below a folder that is.
    """

    def __init__(self, effects: Effects | None = None) -> None:
        self.effects = effects
        self.denies: Callable[[str], bool] = lambda path: False
        self._folders: dict[str, str] = {}
        declared = effects or Effects()
        self._writes = {self._real(path) for path in declared.writes}
        self._reads = {self._real(path) for path in declared.reads}
        self.targets = (frozenset(self._writes), frozenset(self._reads))

    def read(self, path: Path) -> Path:
        """The real path of a file or folder to read. Raises ToolError if that was not approved."""
        target = self._real(path)
        if self.denies(target):
            raise ToolError(f"Reading {shortened(clean_line(str(path)), NAMED_CHARS)} is denied by a rule.")
        if self.effects is None or target in self._writes or self._covers(target):
            return path if str(path) == target else Path(target)
        raise _refused("Reading", path, target)

    def read_member(self, archive: Path, member: str) -> None:
        """Raises ToolError if a file with this name, in the archive or beside it, is never approved."""
        for folder in (archive, archive.parent):
            name = os.path.normpath(f"{self._real(folder)}/{member}")
            if self.denies(name):
                raise ToolError(f"Reading {shortened(clean_line(member), NAMED_CHARS)} is denied by a rule.")

    def list(self, path: Path) -> Path:
        """Like `read`, for the names in a folder; also if it is the folder of an approved file."""
        target = self._real(path)
        start = f"{target.rstrip('/')}/"
        beside = (each[: each.rfind("/") + 1] for each in (*self._reads, *self._writes))
        if self.effects is None or self._covers(target) or start in beside:
            return Path(target)
        raise _refused("Listing", path, target)

    def write(self, path: Path) -> Path:
        """The real path of a file to write. Raises ToolError if that was not approved."""
        target = self._real(path)
        if self.effects is None or target in self._writes:
            return Path(target)
        raise _refused("Writing", path, target)

    def remove(self, path: Path) -> Path:
        """The path of a file to delete; if it is a link, the link itself, not its target."""
        target = f"{os.path.realpath(path.parent).rstrip('/')}/{path.name}"
        if self.effects is None or target in self._writes:
            return Path(target)
        raise _refused("Deleting", path, target)

    def run(self, command: str) -> None:
        """Raises ToolError if this command, as declared, was not approved."""
        if self.effects is not None and command not in self.effects.runs:
            shown = shortened(clean_line(command), NAMED_CHARS)
            raise ToolError(f"Running this was not approved, so it did not run: {shown}")

    @property
    def may_run(self) -> bool:
        return self.effects is None or bool(self.effects.runs)

    def connect(self, host: str) -> None:
        """Raises ToolError if a connection to this host was not approved."""
        if self.effects is not None and host not in self.effects.network and "*" not in self.effects.network:
            raise ToolError(f"A connection to {host} was not approved.")

    def add_own(self, path: Path, *, writable: bool) -> None:
        """Add a file of the session itself, which an internal URL names."""
        target = self._real(path)
        self._reads.add(target)
        if writable:
            self._writes.add(target)

    def _covers(self, target: str) -> bool:
        if target in self._reads:
            return True
        return any(target.startswith(each if each == "/" else f"{each}/") for each in self._reads)

    def _real(self, path: Path) -> str:
        """Where a path leads, if its folder still leads where it led before: only an exact open proves it."""
        text = str(path)
        if len(text) > MAX_PATH_CHARS:
            return text
        if not text.startswith("/") or "/../" in f"{text}/":
            return os.path.realpath(text)
        folder, _, name = text.rpartition("/")
        if not name:
            return "/"  # pathlib has a second root, //
        real = self._folders.get(folder)
        return _follow(self._real_folder(folder) if real is None else real, name)

    def _real_folder(self, folder: str) -> str:
        """Where a folder leads, and all above it are remembered; without the slash at the end."""
        if len(self._folders) >= MAX_FOLDERS:
            self._folders.clear()
        unknown: list[str] = []
        while folder.strip("/") and folder not in self._folders:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        real = self._folders.get(folder, "")
        for each in reversed(unknown):
            real = self._folders[each] = _follow(real, each.rpartition("/")[2]).rstrip("/")
        return real


def _follow(folder: str, name: str) -> str:
    target = f"{folder}/{name}"
    return os.path.realpath(target) if os.path.islink(target) else target  # noqa: PTH114 - a string


class BoundFileSystem:
    """A file system that touches only what a call declared."""

    def __init__(self, fs: FileSystem, approved: ApprovedEffects) -> None:
        self._fs = fs
        self._approved = approved

    async def read(self, path: Path) -> bytes:
        return await self._fs.read(self._approved.read(path))

    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        return await self._fs.read_part(self._approved.read(path), start, size)

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        return await self._fs.write(self._approved.write(path), data, expect=expect)

    async def stat(self, path: Path) -> Stat | None:
        """Not bound: whether a path exists is how tools find out what it means."""
        return await self._fs.stat(path)

    async def list(self, path: Path) -> Sequence[str]:
        return await self._fs.list(self._approved.list(path))

    async def scan(self, path: Path, *, most: int) -> DirectoryScan:
        return await self._fs.scan(self._approved.list(path), most=most)

    async def remove(self, path: Path, *, expect: Stat | None = None) -> None:
        await self._fs.remove(self._approved.remove(path), expect=expect)


def _refused(doing: str, path: Path, target: str) -> ToolError:
    where = shortened(clean_line(str(path)), NAMED_CHARS)
    leads = "" if str(path) == target else f", which leads to {shortened(clean_line(target), NAMED_CHARS)},"
    return ToolError(f"{doing} {where}{leads} was not approved; nothing was done there.")
