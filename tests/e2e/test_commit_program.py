"""`tau commit` as users run it."""

import json
import subprocess

import pexpect
import pytest

from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S


def git(tau: Program, *words: str) -> str:
    ran = subprocess.run(["git", *words], cwd=tau.project, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def staged(tau: Program) -> Program:
    git(tau, "init", "-q")
    for key in ("user.name", "user.email"):
        git(tau, "config", key, "a@b")
    (tau.project / "a.py").write_text("x = 1\n")
    git(tau, "add", "a.py")
    return tau


def test_the_model_writes_the_message(staged: Program) -> None:
    staged.script("feat: add a")
    ran = staged.run("commit", *FAKE, "--context", "issue 7")
    assert (ran.returncode, git(staged, "log", "--format=%s")) == (0, "feat: add a"), ran.stderr
    assert "feat: add a" in ran.stdout and "issue 7" in str(staged.user_messages())
    again = staged.run("commit", *FAKE)
    assert again.returncode == 2 and "Nothing is staged" in again.stderr


def test_split_shows_its_plan_as_json_and_wants_an_approval(staged: Program) -> None:
    staged.script('{"commits": [{"changes": [1], "message": "feat: add a"}]}')
    ran = staged.run("commit", *FAKE, "--split", "--dry-run", "--json")
    answer = json.loads(ran.stdout)
    assert answer["messages"] == ["feat: add a"] and answer["files"] == [["a.py"]] and answer["dryRun"]
    refused = staged.run("commit", *FAKE, "--split")
    assert refused.returncode == 2 and "--yes" in refused.stderr
    assert git(staged, "status", "--porcelain") == "A  a.py"


def test_a_question_is_asked_in_a_terminal(staged: Program) -> None:
    staged.script("feat: add a", "feat: add a")
    for answer, status in (("n", 1), ("y", 0)):
        argv = [*TAU, "commit", *FAKE]
        with pexpect.spawn(
            argv[0], argv[1:], cwd=str(staged.project), encoding="utf-8", timeout=HANG_S
        ) as terminal:
            terminal.expect_exact("Commit? [Y/n]")
            terminal.sendline(answer)
            terminal.expect(pexpect.EOF)
        assert terminal.exitstatus == status
    assert git(staged, "log", "--format=%s") == "feat: add a"


def test_without_a_model_the_message_is_marked(staged: Program) -> None:
    staged.write("models.json", {})
    ran = staged.run("commit")
    assert ran.returncode == 0, ran.stderr
    assert "Written without a model" in ran.stdout + ran.stderr
    assert git(staged, "log", "--format=%s") == "feat: add a.py"
