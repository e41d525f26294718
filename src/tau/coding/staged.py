"""Writes several files as one change: what changed meanwhile is refused, a failure undoes the rest."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.agent.ports import Stat
from tau.base.errors import ToolError
from tau.coding.paths import shown
from tau.coding.ports import CodingContext


class Staged(Struct, frozen=True, kw_only=True):
    """`old` is what the file held when it had `stat`."""

    path: Path
    old: bytes
    new: bytes
    stat: Stat


class Outcome(Struct, frozen=True):
    written: list[Path]
    refused: list[Path]


async def write_staged(files: Sequence[Staged], ctx: CodingContext) -> Outcome:
    """Write all files that nobody has changed meanwhile. If one of them fails, those before it get their old
    content back, and ToolError says which it was."""
    unchanged: list[Staged] = []
    refused: list[Path] = []
    for file in files:
        same = await _stat(file.path, ctx) == file.stat
        if same:
            unchanged.append(file)
        else:
            refused.append(file.path)
    done: list[tuple[Staged, Stat]] = []
    try:
        for file in unchanged:
            done.append((file, await ctx.fs.write(file.path, file.new, expect=file.stat)))
    except BaseException as error:
        lost = await _restore(done, ctx)
        if isinstance(error, OSError | ToolError):
            raise _failure(unchanged[len(done)].path, error, lost, ctx) from error
        raise
    for file, after in done:
        ctx.snapshots.remember(file.path, after)
    return Outcome([file.path for file, _ in done], refused)


async def _stat(path: Path, ctx: CodingContext) -> Stat | None:
    try:
        return await ctx.fs.stat(path)
    except OSError:
        return None


async def _restore(done: Sequence[tuple[Staged, Stat]], ctx: CodingContext) -> list[Path]:
    """Give files their old content back; those for which that failed too."""
    lost: list[Path] = []
    for file, after in reversed(done):
        try:
            await ctx.fs.write(file.path, file.old, expect=after)
        except (OSError, ToolError):
            lost.append(file.path)
    return lost


def _failure(path: Path, error: Exception, lost: Sequence[Path], ctx: CodingContext) -> ToolError:
    why = str(getattr(error, "strerror", None) or error).rstrip(".")
    rest = "no file was changed"
    if lost:
        rest = f"these files are changed all the same: {', '.join(shown(each, ctx.cwd) for each in lost)}"
    return ToolError(f"Cannot write {shown(path, ctx.cwd)}: {why}; {rest}.")
