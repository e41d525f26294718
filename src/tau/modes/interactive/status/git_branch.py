"""The checked-out branch and whether there are uncommitted changes, without blocking."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tau.base.run import LocalRunner
from tau.config.paths import repo_root

LONGEST_S = 5.0
_HEAD_BYTES = 4096
# A repository can name programs for git to start; do not start them here.
_STATUS = ("git", "-c", "core.fsmonitor=false", "status", "--porcelain", "--untracked-files=no")


class GitCheckout(NamedTuple):
    """`branch` is empty outside a repository; a detached HEAD is a short hash."""

    branch: str = ""
    dirty: bool = False


def branch_of(cwd: Path) -> str:
    """What `.git/HEAD` says; reads at most two small files."""
    root = repo_root(cwd)
    if root is None:
        return ""
    with suppress(OSError, ValueError):
        folder = root / ".git"
        if folder.is_file():
            folder = root / _beginning(folder).removeprefix("gitdir:").strip()
        head = _beginning(folder / "HEAD").strip()
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
    return ""


async def is_dirty(cwd: Path) -> bool:
    """Whether a tracked file differs from the last commit; False if git does not answer in time."""
    runner = LocalRunner()
    try:
        async with asyncio.timeout(LONGEST_S):
            process = await runner.start(_STATUS, cwd=cwd, env={"GIT_OPTIONAL_LOCKS": "0"})
            async with process:
                async for chunk in process.output():
                    if chunk.strip() and not chunk.startswith(b"fatal:"):
                        return True
                return False
    except (OSError, TimeoutError):
        return False
    finally:
        runner.close()


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES).decode()
