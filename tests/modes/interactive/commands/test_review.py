"""/review: what the agent is asked to look at, and the completion of branches and commits."""

import subprocess
from pathlib import Path

import pytest

from tau.ai.faux import Say
from tests.coding.task.play import Answer, Play, text_in, yielded
from tests.modes.interactive.commands.command_rig import run_command
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
    (tmp_path / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, *_COMMIT, "Start")
    git(tmp_path, "checkout", "-qb", "greet")
    (tmp_path / "b.py").write_text("b = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, *_COMMIT, "Say hello")
    (tmp_path / "a.py").write_text("a = 2\n")
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
def test_reviewer_sees_what_to_look_at(repository: Path, typed: str, subject: str, command: str) -> None:
    start = git(repository, "rev-parse", "main")

    def agent(assignment: str, turn: int) -> Answer:
        verdict = {"overall_correctness": "correct", "explanation": "Looks right.", "confidence": 1}
        return yielded(verdict)

    async def test() -> None:
        play = Play([[Say("Thanks.")]], agent)
        async with rigged(repository, stream=play.stream) as rig:
            await rig.send(typed)
            await rig.show("Looks right.")
            await rig.show("No defects found")
            sent = text_in(play.agent_requests[0].messages[0])
            assert sent.startswith(f"Review {subject}")
            assert command.format(start=start) in sent
            assert "{" not in sent and "Change no files." in sent
            await rig.send("thanks")
            await rig.show("Thanks.")
            assert "No defects found" in str(play.main_requests[-1].messages)

    run(test)


def test_nothing_to_review_starts_nothing(repository: Path) -> None:
    git(repository, "checkout", "-q", "--", ".")
    git(repository, "clean", "-qfd")

    async def test() -> None:
        async with rigged(repository) as rig:
            await run_command(rig, "/review", "There is nothing to review in the uncommitted changes")
            assert rig.faux.requests == []

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
