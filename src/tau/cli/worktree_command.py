"""`tau worktree [list|show|apply|clean]`: copies of repositories that isolated agents left behind."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tau.backends.isolation.copies import (
    RepositoryCopy,
    load_workspace,
    mounted,
    remove_workspace,
    unused_stores,
)
from tau.backends.isolation.merge import diff_text, find_changes, merge_files, merge_lock, save_patch
from tau.base.errors import TauError, UsageError
from tau.base.run import LocalRunner
from tau.base.text import quantity
from tau.cli.main import write_stdout
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.github.checkouts import list_worktrees
from tau.config.paths import user_paths
from tau.sdk.delegation import workspaces_folder

ACTIONS = ("list", "show", "apply", "clean")


def run(argv: Sequence[str]) -> int:
    """Run `tau worktree`. Raises TauError."""
    parsed = parse_subcommand("worktree", argv)
    action, *rest = parsed.words or ["list"]
    if action == "list" and not rest:
        rows = [*map(_line, _all()), *(f"{path.name}  pull request  {path}" for path in _pull_requests())]
        return write_stdout("".join(f"{row}\n" for row in rows) or "No copies.\n")
    if action == "clean" and not rest:
        return asyncio.run(_clean(dry=parsed.has("dry-run")))
    if action in ("show", "apply") and len(rest) == 1:
        return asyncio.run(_show(_find(rest[0])) if action == "show" else _apply(_find(rest[0])))
    raise UsageError(usage_line("worktree"))


def _all() -> list[RepositoryCopy]:
    folder = workspaces_folder(os.environ)
    found = (load_workspace(path) for path in sorted(folder.iterdir())) if folder.is_dir() else ()
    return [one for one in found if one is not None]


def _pull_requests() -> list[Path]:
    """Their work trees, which git looks after: `git worktree remove` deletes one."""
    return list_worktrees(user_paths(os.environ).home / "wt")


def _find(name: str) -> RepositoryCopy:
    found = [one for one in _all() if one.folder.name == name or one.info.id == name]
    if len(found) != 1:
        raise UsageError(f'There is no copy "{name}"; tau worktree list shows them.')
    return found[0]


def _is_used(copy: RepositoryCopy) -> bool:
    """Whether the process that made it is alive."""
    try:
        os.kill(copy.info.owner, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return copy.info.owner != os.getpid()


def _line(copy: RepositoryCopy) -> str:
    used = " (in use)" if _is_used(copy) else ""
    return f"{copy.folder.name}  {copy.info.mode}  {copy.info.started}  of {copy.info.root}{used}"


async def _show(copy: RepositoryCopy) -> int:
    runner = LocalRunner()
    try:
        async with mounted(runner, copy):
            text = await diff_text(runner, copy, await find_changes(runner, copy))
    finally:
        runner.close()
    return write_stdout(text or "It changed no files.\n")


async def _apply(copy: RepositoryCopy) -> int:
    """Merge a copy into its repository; it is removed if that worked."""
    if _is_used(copy):
        raise UsageError(f"{copy.folder.name} is in use by process {copy.info.owner}.")
    runner = LocalRunner()
    try:
        async with mounted(runner, copy):
            changes = await find_changes(runner, copy)
            async with merge_lock(copy.folder.parent):
                outcome = await merge_files(runner, copy, changes, LocalFileSystem())
        if outcome.state == "conflict":
            raise UsageError(f"Not merged: {outcome.reason}. The copy stays in {copy.files}.")
        if not changes.repositories:
            await remove_workspace(copy)
    finally:
        runner.close()
    return write_stdout(f"Merged {quantity(len(outcome.files), 'file')} into {copy.info.root}.\n")


async def _clean(*, dry: bool) -> int:
    """Remove copies without changes; of others, those whose patch reads back are named, never removed."""
    runner = LocalRunner()
    lines = []
    try:
        for copy in _all():
            if _is_used(copy):
                lines.append(f"Skipped {copy.folder.name}: it is in use.")
                continue
            patch = copy.folder.parent / f"{copy.folder.name}.patch"
            try:
                async with mounted(runner, copy):
                    changes = await find_changes(runner, copy)
                    if (changes.files or changes.repositories) and not dry:
                        await save_patch(runner, copy, changes, patch)
            except (TauError, OSError) as error:
                lines.append(f"Kept {copy.folder.name}: {error}")
                continue
            if changes.files or changes.repositories:
                saved = "" if dry else f"; patch: {patch}"
                lines.append(
                    f"Kept {copy.folder.name}: {quantity(len(changes.files), 'changed file')}{saved}."
                )
            else:
                if not dry:
                    await remove_workspace(copy)
                lines.append(f"{'Would remove' if dry else 'Removed'} {copy.folder.name}: nothing changed.")
    finally:
        runner.close()
    if not dry:
        for store in await asyncio.to_thread(unused_stores, workspaces_folder(os.environ)):
            await asyncio.to_thread(shutil.rmtree, store, ignore_errors=True)
    return write_stdout("\n".join([*lines, ""]) if lines else "No copies.\n")
