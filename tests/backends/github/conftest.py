"""A checkout of octo/app, and a GitHub that the real gh asks."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.agent.output import ToolOutput
from tau.sdk import call_tool
from tests.support.fake_github import FakeGithub, Reply, github_schema, serving

REPOSITORY: dict[str, Any] = {
    "__typename": "Repository",
    "id": "R_1",
    "name": "app",
    "nameWithOwner": "octo/app",
    "owner": {"__typename": "Organization", "login": "octo", "id": "O_1"},
    "description": "An app <!-- for whom -->",
    "url": "https://github.com/octo/app",
    "sshUrl": "git@github.com:octo/app.git",
    "defaultBranchRef": {"name": "main"},
    "visibility": "PUBLIC",
    "viewerPermission": "WRITE",
    "primaryLanguage": {"name": "Python"},
    "stargazerCount": 42,
    "forkCount": 7,
    "updatedAt": "2026-11-01T10:00:00Z",
    "homepageUrl": "https://app.example",
    "repositoryTopics": {"nodes": [{"topic": {"name": "cli"}}]},
    "issues": {"totalCount": 1},
}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=u", "-c", "user.email=u@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="session", autouse=True)
def schema() -> None:
    """Built before the first event loop runs: it takes a second."""
    github_schema()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://github.com/octo/app.git")
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "First")
    return folder


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGithub]:
    with serving(tmp_path, monkeypatch) as fake:
        fake.data["repository"] = REPOSITORY
        yield fake


Use = Callable[..., ToolOutput]


@pytest.fixture
def use(checkout: Path) -> Use:
    """Calls the github tool as the program does."""

    def call(op: str, **arguments: Any) -> ToolOutput:
        return asyncio.run(call_tool("github", {"op": op, **arguments}, checkout, approved=True))

    return call


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


def said(output: ToolOutput) -> str:
    return "\n".join(getattr(part, "text", "") for part in output.content)
