"""Reviews: each agent has a share of the files; findings come once, by priority."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.coding.task.code_review import ReviewedFile, Reviewer, ReviewReport, merge, split
from tau.coding.task.report_finding import Finding, Priority
from tests.e2e.program import FAKE, Program
from tests.support.fake_answers import Answer, Call
from tests.support.forked import ForkServer
from tests.support.team_server import TeamServer


def finding(
    title: str, priority: Priority = "P2", path: str = "a.py", line: int = 3, end: int = 3
) -> Finding:
    return Finding(title, "When it is empty.", priority, 0.9, path, line, end)


def test_findings_come_once_by_priority_and_place() -> None:
    found = [
        finding("Empty list fails", "P2", line=3, end=5),
        finding("An empty list fails", "P1", line=4),
        finding("Name is never closed", "P2", line=4),
        finding("Empty list fails", "P3", path="b.py"),
        finding("Crash", "P0", path="z.py"),
    ]
    assert [(one.priority, one.file_path, one.title) for one in merge(found)] == [
        ("P0", "z.py", "Crash"),
        ("P1", "a.py", "An empty list fails"),
        ("P2", "a.py", "Name is never closed"),
        ("P3", "b.py", "Empty list fails"),
    ]


@pytest.mark.parametrize(
    ("count", "lines", "shares"), [(1, 10, 1), (8, 20, 1), (9, 20, 2), (3, 5_000, 3), (500, 10, 4)]
)
def test_shares_are_few_and_cover_every_file_once(count: int, lines: int, shares: int) -> None:
    files = [ReviewedFile(f"f{at:03}", lines) for at in range(count)]
    made = split(files)
    assert len(made) == shares
    assert [path for share in made for path in share] == [one.path for one in files]


@pytest.mark.parametrize(
    ("errors", "says"),
    [
        (["", ""], "No defects found in HEAD."),
        (["", "it stopped"], "No defects found in the reviewed part of HEAD."),
        (["it stopped", "it stopped"], "The review of HEAD failed."),
    ],
)
def test_review_that_failed_claims_nothing(errors: list[str], says: str) -> None:
    reviewers = [Reviewer("One", ["a.py"], error) for error in errors]
    assert ReviewReport("HEAD", [], reviewers, 0, 0).text().splitlines()[0] == says


def reviewer(text: str, turn: int) -> Answer:
    """Finds one defect in each file of its share; everybody finds the one in common.py."""
    if turn:
        data = {"overall_correctness": "incorrect", "explanation": "It breaks.", "confidence": 0.8}
        return Answer((Call("yield", {"data": data}),))
    mine = [line[2:] for line in text.splitlines() if line.startswith("- ")] or ["a.py"]
    calls = [
        Call(
            "report_finding",
            {
                "title": f"Defect in {path}",
                "body": "Always.",
                "priority": priority,
                "confidence": 0.9,
                "file_path": path,
                "line_start": 1,
                "line_end": 1,
            },
            id=f"c{at}",
        )
        for at, (path, priority) in enumerate([("common.py", "P1"), (mine[0], "P2")])
    ]
    return Answer(tuple(calls))


@pytest.fixture
def reviewed(tmp_path: Path, forks: ForkServer | None) -> Iterator[Program]:
    with TeamServer(reviewer) as server:
        tau = Program(server, tmp_path, forks)
        git(tau, "init", "-q", "-b", "main")
        (tau.project / "old.py").write_text("x = 1\n")
        git(tau, "add", "-A")
        git(tau, "commit", "-qm", "first")
        git(tau, "checkout", "-qb", "work")
        yield tau


def git(tau: Program, *words: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    subprocess.run(command, cwd=tau.project, check=True, capture_output=True)


def test_review_of_a_branch_is_split_and_merged(reviewed: Program) -> None:
    for at in range(12):
        (reviewed.project / f"n{at:02}.py").write_text("y = 2\n")
    git(reviewed, "add", "-A")
    git(reviewed, "commit", "-qm", "second")
    ran = reviewed.run("review", *FAKE, "--base", "main", "--json", "--fail-on", "p1")
    assert ran.returncode == 1, ran.stderr
    report = json.loads(ran.stdout)
    assert [one["priority"] for one in report["findings"]] == ["P1", "P2", "P2"]
    assert sorted(path for one in report["reviewers"] for path in one["files"])[:2] == ["n00.py", "n01.py"]
    assert len(report["reviewers"]) == 2 and report["subject"] == "what this branch adds to `main`"


def test_review_of_uncommitted_files_as_text(reviewed: Program) -> None:
    nothing = reviewed.run("review", *FAKE)
    assert nothing.returncode == 0 and "nothing to review" in nothing.stdout
    (reviewed.project / "old.py").write_text("x = 2\n")
    ran = reviewed.run("review", *FAKE)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "P1 common.py:1: Defect in common.py"
    assert reviewed.run("review", *FAKE, "--fail-on", "P0").returncode == 0


def test_bad_words_are_explained(reviewed: Program) -> None:
    (reviewed.project / "old.py").write_text("x = 2\n")
    for words, problem in (
        (("--fail-on", "P9"), '--fail-on is one of P0, P1, P2, P3, not "P9".'),
        (("--base", "nowhere"), 'There is no commit "nowhere"'),
        (("more",), "Usage: tau review"),
    ):
        ran = reviewed.run("review", *FAKE, *words)
        assert ran.returncode == 2 and problem in ran.stderr and "Traceback" not in ran.stderr
