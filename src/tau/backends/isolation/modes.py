"""The ways to copy a repository, and which of them work here."""

import os
from collections.abc import Sequence
from pathlib import Path

from tau.backends.isolation.git_calls import IsolationError
from tau.base.run import OUTSIDE, Limits, Runner, capture

WORKING = ("reflink", "worktree", "copy")
COPY_TIMEOUT_S = 1800.0
SIMILAR = {"apfs": "reflink", "btrfs": "reflink", "zfs": "reflink", "block-clone": "reflink", "rcopy": "copy"}


async def choose_mode(wanted: str, run: Runner, root: Path, folder: Path) -> tuple[str, str]:
    """The mode to use, and a notice if it is not the wanted one."""
    named = SIMILAR.get(wanted, wanted)
    if named in ("worktree", "copy"):
        return (
            named,
            "" if named == wanted else f"The isolation mode {wanted} is not available here; using {named}.",
        )
    can_clone = await _can_reflink(run, root, folder)
    if can_clone and named in ("reflink", "auto"):
        return "reflink", "" if named == wanted else f"The isolation mode {wanted} works as reflink here."
    if named == "auto":
        return "worktree", ""
    return "worktree", f"The isolation mode {wanted} is not available here; using worktree."


async def _can_reflink(run: Runner, root: Path, folder: Path) -> bool:
    """Try it: from the repository to where copies are."""
    probe, target = root / ".git" / "HEAD", folder / f".probe-{os.urandom(4).hex()}"
    try:
        if not probe.is_file():
            return False
        await copy_files(run, [probe], target, reflink="always")
    except (IsolationError, OSError):
        return False
    finally:
        target.unlink(missing_ok=True)
    return True


async def copy_files(run: Runner, sources: Sequence[Path], target: Path, *, reflink: str) -> None:
    """Copy files and folders with everything about them; links stay links."""
    if not sources:
        return
    process = await run.start(
        ["cp", "-a", f"--reflink={reflink}", "--", *map(str, sources), str(target)],
        cwd=target.parent,
        sandbox=OUTSIDE,
        limits=Limits(timeout=COPY_TIMEOUT_S),
    )
    async with process:
        result = await capture(process)
    if result.exit.code != 0:
        reason = result.output.decode("utf-8", "replace").strip().splitlines()
        raise IsolationError(f"The files could not be copied: {reason[-1] if reason else 'cp failed'}.")
