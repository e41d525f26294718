"""The ways to copy a repository, and which of them work here."""

import os
from collections.abc import Sequence
from pathlib import Path

from tau.backends.isolation.git_calls import IsolationError
from tau.backends.isolation.overlay import KINDS, try_overlay
from tau.base.run import OUTSIDE, Limits, Runner, capture

COPY_TIMEOUT_S = 1800.0
SIMILAR = dict.fromkeys(["apfs", "btrfs", "zfs", "block-clone"], "reflink")
SIMILAR |= {"overlayfs": "overlay", "rcopy": "copy"}
FALLBACKS = {"overlay": ("fuse-overlay", "reflink"), "fuse-overlay": ("overlay", "reflink"), "reflink": ()}
AUTO = ("overlay", "fuse-overlay", "reflink")
"""In this order, the first that a probe shows working; worktree always does."""


async def choose_mode(wanted: str, run: Runner, root: Path, folder: Path) -> tuple[str, str]:
    """The mode to use for copies in `folder`, and a notice if it is not the wanted one."""
    named = SIMILAR.get(wanted, wanted)
    if named in ("worktree", "copy"):
        return named, "" if named == wanted else _notice(wanted, named)
    reason = ""
    for mode in AUTO if named == "auto" else (named, *FALLBACKS.get(named, AUTO)):
        if mode == "reflink":
            problem = "" if await _can_reflink(run, root, folder) else "the file system cannot share blocks"
        elif mode in KINDS:
            problem = await try_overlay(run, mode, folder)
        else:
            problem = "there is no such mode on this system"
        if not problem:
            return mode, "" if wanted in (mode, "auto") else _notice(wanted, mode, reason)
        reason = reason or problem
    return "worktree", "" if named == "auto" else _notice(wanted, "worktree", reason)


def _notice(wanted: str, used: str, reason: str = "") -> str:
    why = f" ({reason})" if reason else ""
    return f"The isolation mode {wanted} is not available here{why}; using {used}."


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
