"""The checked-out branch and whether there are uncommitted changes, without blocking."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from tau.base import git_dir
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.base.text import clean_line
from tau.config.paths import repo_root

git = late("tau.base.git")
tempfile = late("tempfile")

LONGEST_S = 5.0
_STATUS = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")


class GitCheckout(NamedTuple):
    """`branch` is empty outside a repository; a detached HEAD is a short hash."""

    branch: str = ""
    dirty: bool = False


def branch_of(cwd: Path) -> str:
    root = repo_root(cwd)
    return "" if root is None else clean_line(git_dir.branch_of(root))


async def is_dirty(cwd: Path) -> bool:
    """Whether a tracked file differs from the last commit; False if git does not answer in time."""
    root = repo_root(cwd)
    if root is None:
        return False
    runner = LocalRunner()
    try:
        with tempfile.TemporaryDirectory(prefix="tau-git-") as folder:
            view = git.open_git_view(root, Path(folder))
            async with asyncio.timeout(LONGEST_S):
                process = await runner.start(view.command(*_STATUS), cwd=view.root, env=view.env())
                async with process:
                    async for chunk in process.output():
                        if chunk.strip() and not chunk.startswith(b"fatal:"):
                            return True
                    return False
    except (OSError, TimeoutError):
        return False
    finally:
        runner.close()
