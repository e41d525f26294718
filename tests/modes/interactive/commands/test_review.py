"""/review: what the agent is asked to look at, and the completion of branches and commits."""

import subprocess
from pathlib import Path

import pytest

from tau.ai.faux import Say
from tests.modes.interactive.commands.command_rig import last_sent, run_command
from tests.modes.interactive.rig import rigged, run

_COMMIT = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two branches: main, and greet with one more commit, which is checked out."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, *_COMMIT, "Start")
    git(tmp_path, "checkout", "-qb", "greet")
    git(tmp_path, *_COMMIT, "Say hello")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "subject", "command"),
    [
        ("/review", "the uncommitted changes", "`git diff HEAD`"),
        ("/review the parser", "the uncommitted changes", "Above all, look at this: the parser"),
        ("/review greet", "what the branch `greet` adds to `main`", "`git diff main...greet`"),
        ("/review main", "what the branch `greet` adds to `main`", "`git log --oneline main..greet`"),
        ("/review HEAD~1", "the commit `HEAD~1`", "Start with `git show {start}`."),
        ("/review greet its tests", "what the branch `greet`", "Above all, look at this: its tests"),
    ],
)
def test_review_says_what_to_look_at(repository: Path, typed: str, subject: str, command: str) -> None:
    start = git(repository, "rev-parse", "main")

    async def test() -> None:
        async with rigged(repository, [[Say("Looks right.")]]) as rig:
            await rig.send(typed)
            await rig.show("Looks right.")
            sent = last_sent(rig)
            assert sent.startswith(f"Review {subject}")
            assert command.format(start=start) in sent
            assert "{" not in sent and "Change no files." in sent

    run(test)


def test_review_completes_branches_and_commits(repository: Path) -> None:
    async def test() -> None:
        async with rigged(repository) as rig:
            await rig.type("/review ")
            shown = await rig.show("Start")
            for text in ("greet", "main", "Say hello", git(repository, "rev-parse", "--short", "main")):
                assert text in shown

    run(test)


def test_review_outside_a_repository_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await run_command(rig, "/review", "/review needs a Git repository")
            assert rig.faux.requests == []

    run(test)
