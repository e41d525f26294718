"""Atomic multi-file changes: check all, write one by one, roll back if one fails."""

import asyncio
import os
import stat as modes
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tau.agent.ports import ABSENT, Stat, ToolContext
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.change import FileChange, FileSource, load
from tau.coding.edits.file_locks import lock_files
from tau.coding.files.paths import OTHER_NAMES, failure, real
from tau.coding.files.targets import locate_file
from tau.coding.ports import CodingContext

exact_paths = late("tau.base.exact_paths")

MAX_FILES = 500

Guard = Callable[[FileChange], str | None]
"""Returns a sentence on why a file must not be changed (such as a generated one), or None."""
_Make = Callable[[Mapping[Path, FileSource]], Sequence[FileChange]]
"""Plans the changes from the files, keyed by real path."""


class WrittenChange(Struct, frozen=True):
    """An applied change; `stat` is that of `change.target`, None if it was deleted."""

    change: FileChange
    stat: Stat | None

    @property
    def notes(self) -> list[str]:
        """What the change did to other files."""
        before = self.change.stat
        shared = self.change.kind == "update" and before is not None and before.names > 1
        return [f"{self.change.name}: {OTHER_NAMES}"] if shared else []


async def find_target(name: str, ctx: CodingContext) -> Path:
    """The file that a path or an internal URL such as `local://plan.md` names. Raises ToolError."""
    target = locate_file(name, ctx.cwd)
    if target.kind != "url":
        return target.path
    resource = await ctx.urls.resolve(target.text, ctx)
    if resource.path is None or resource.immutable:
        raise ToolError(f"{name} can be read, not edited.")
    return resource.path


def declared_path(name: str, cwd: Path) -> tuple[Path, ...]:
    """The file that an edit of `name` declares; internal URLs are not outside."""
    target = locate_file(name, cwd)
    return () if target.kind == "url" else (target.path,)


async def change_files(
    paths: Sequence[Path],
    make: _Make,
    ctx: ToolContext,
    *,
    guard: Guard | None = None,
    names: Mapping[Path, str] | None = None,
) -> list[WrittenChange]:
    """Read the files, plan and write, with no other edit of ours in between.

    `names` are what to call files that are not shown by their path.
    Raises ToolError; then nothing has changed, or the error says what could not be restored.
    """
    if len(paths) > MAX_FILES:
        raise ToolError(f"This names {len(paths)} files; one edit may change at most {MAX_FILES}.")
    async with lock_files(paths):
        called = names or {}
        sources: dict[Path, FileSource] = {}
        for path in dict.fromkeys(paths):
            sources[real(path)] = await load(path, ctx, called.get(path, ""))
            await asyncio.sleep(0)  # a hundred files would hold the event loop
        changes = await asyncio.to_thread(make, sources)  # matching and diffs take a while in large files
        return await apply_changes(changes, ctx, guard=guard)


async def apply_changes(
    changes: Sequence[FileChange], ctx: ToolContext, *, guard: Guard | None = None
) -> list[WrittenChange]:
    """Apply all changes or none; the caller holds the file locks. Raises ToolError."""
    if not changes:
        raise ToolError("There is nothing to change.")
    await _check(changes, ctx, guard)
    stats: list[Stat | None] = [None] * len(changes)
    steps = _Steps(ctx)
    current = changes[0]
    try:
        for index, change in enumerate(changes):
            current = change
            if change.new is not None:
                stats[index] = await steps.write(change, change.new)
                await asyncio.sleep(0)
        # Delete last: restoring a deleted file loses its owner and its hard links.
        for change in changes:
            current = change
            if change.kind in ("delete", "move"):
                await steps.remove(change)
    except BaseException as error:
        outcome = await steps.undo()
        if isinstance(error, OSError):
            reason = str(failure("edit", current.name, error))
        elif isinstance(error, ToolError):
            reason = str(error)
        else:
            raise
        raise ToolError(f"{reason} {outcome}".rstrip()) from error
    return [WrittenChange(change, stat) for change, stat in zip(changes, stats, strict=True)]


async def _check(changes: Sequence[FileChange], ctx: ToolContext, guard: Guard | None) -> None:
    """Check everything possible before the first write, and report all problems at once."""
    problems: list[str] = []
    named: set[Path] = set()
    for change in changes:
        problem = guard(change) if guard is not None else None
        problem = problem or await _problem(change, ctx)
        for path in {real(change.path), real(change.target)}:
            if path in named:
                problem = problem or f"{change.name} is changed twice in one edit."
            named.add(path)
        if problem is not None:
            problems.append(problem)
    if problems:
        others = "" if len(changes) == 1 else " No file was changed."
        raise ToolError("\n".join(problems) + others)


async def _problem(change: FileChange, ctx: ToolContext) -> str | None:
    try:
        stat = await ctx.fs.stat(change.path)
        if change.kind == "create":
            return None if stat is None else f"{change.name} already exists; update it instead."
        if stat is None:
            return f"There is no file {change.name}."
        if stat != change.stat:
            return f"{change.name} has changed on disk since it was read. Read it again first."
        if change.kind in ("delete", "move") and change.path.is_symlink():
            return f"{change.name} is a symbolic link; use bash to move or delete it."
        if change.new_path is None:
            return None
        there = await ctx.fs.stat(change.new_path)
    except OSError as error:
        return str(failure("edit", change.name, error))
    if there is None:
        return None
    if there.inode == stat.inode and there.inode:
        return f"{change.new_name} is the same file as {change.name} here; use bash to rename it."
    return f"{change.new_name} already exists; cannot move {change.name} there."


class _Steps:
    """The steps done so far, for rollback."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._done: list[FileChange] = []
        self._after: list[Stat | None] = []
        self._removed: list[FileChange] = []

    async def write(self, change: FileChange, data: bytes) -> Stat:
        if change.kind != "update" and await self._ctx.fs.stat(change.target) is not None:
            raise ToolError(f"{change.new_name or change.name} already exists.")
        self._done.append(change)
        self._after.append(None)
        expect = change.stat if change.kind == "update" else ABSENT
        stat = await self._ctx.fs.write(change.target, data, expect=expect)
        self._after[-1] = stat
        if change.kind == "move" and change.stat is not None:
            stat = await self._keep_mode(change.target, stat, change.stat.mode)
            self._after[-1] = stat
        return stat

    async def remove(self, change: FileChange) -> None:
        await self._ctx.fs.remove(change.path, expect=change.stat)
        self._removed.append(change)

    async def undo(self) -> str:
        """Roll everything back and describe the outcome."""
        stuck: list[str] = []
        for change in reversed(self._removed):
            if not await self._restored(change.path, ABSENT, change):
                stuck.append(f"{change.name} is deleted")
        for change, after in zip(reversed(self._done), reversed(self._after), strict=True):
            if not await self._roll_back_one(change, after):
                stuck.append(f"{change.new_name or change.name} has the new content")
        if stuck:
            return f"Some changes could not be rolled back: {'; '.join(stuck)}."
        return "Files already written were restored: nothing has changed." if len(self._done) > 1 else ""

    async def _roll_back_one(self, change: FileChange, after: Stat | None) -> bool:
        """Undo one write, which may or may not have taken place."""
        fs = self._ctx.fs
        try:
            stat = await fs.stat(change.target)
            if after is None and (stat is None or stat == change.stat):
                return True
            if after is not None and stat != after:
                return False  # the content is someone else's: leave it
            if after is None and (stat is None or await fs.read(change.target) != change.new):
                return True
            if change.kind == "update":
                return await self._restored(change.target, stat, change)
            await fs.remove(change.target)
        except (OSError, ToolError):
            return False
        return True

    async def _restored(self, path: Path, expect: Stat | None, change: FileChange) -> bool:
        if change.old is None:
            return True
        try:
            stat = await self._ctx.fs.write(path, change.old, expect=expect)
            if change.stat is not None:
                await self._keep_mode(path, stat, change.stat.mode)
        except (OSError, ToolError):
            return False
        return True

    async def _keep_mode(self, path: Path, stat: Stat, mode: int) -> Stat:
        """Give a recreated file the permissions of the one it replaces.

        The port cannot set them, so set them directly if the path leads to the very file just written,
        which proves that this is the local file system.
        """
        if not mode or modes.S_IMODE(stat.mode) == modes.S_IMODE(mode):
            return stat
        with suppress(OSError):
            fd = exact_paths.open_exact(self._ctx.approved.write(path), os.O_RDONLY | os.O_NONBLOCK)
            try:
                info = os.fstat(fd)
                if (info.st_ino, info.st_mtime_ns, info.st_size) == (stat.inode, stat.mtime_ns, stat.size):
                    os.fchmod(fd, modes.S_IMODE(mode))
            finally:
                os.close(fd)
            return await self._ctx.fs.stat(path) or stat
        return stat
