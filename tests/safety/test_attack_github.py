"""What the agent leaves in the workspace does not run outside the sandbox when the tool github uses Git."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tau.backends.github.gh import Gh
from tau.base.run import LocalRunner
from tau.coding.github.checkouts import PullRequestCheckouts, PushTarget


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("hook", ["pre-push", "reference-transaction"])
def test_a_push_runs_no_hook_of_the_workspace(hook: str, tmp_path: Path) -> None:
    """Many repositories keep their hooks in a folder such as .husky, which commands can write."""
    ran, work = tmp_path / "ran", tmp_path / "work"
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(tmp_path, "init", "-q", "-b", "pr-1", "work")
    git(work, "commit", "-q", "--allow-empty", "-m", "one")
    git(work, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(work, "config", "core.hooksPath", ".husky")
    (work / ".husky").mkdir()
    (work / ".husky" / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
    (work / ".husky" / hook).chmod(0o755)
    target = PushTarget(branch="pr-1", remote="origin", remote_branch="topic", remote_url="", pr_url="")

    async def main() -> None:
        runner = LocalRunner()
        checkouts = PullRequestCheckouts(Gh(runner, work), runner, work, tmp_path / "wt")
        await checkouts.push(target, with_lease=False)
        runner.close()

    asyncio.run(main())
    git(tmp_path / "remote.git", "rev-parse", "refs/heads/topic")
    assert not ran.exists()
