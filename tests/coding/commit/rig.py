"""Repositories in many states, and a committer whose model answers from a script."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tau.ai.dialect import Request
from tau.ai.faux import FAUX_MODEL
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, TextContent, Usage
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner
from tau.coding.commit.committer import CommitOptions, CommitResult, Committer, Proposal
from tau.coding.commit.writer import CommitModel
from tau.config.settings import CommitSettings


def git(folder: Path, *words: str, stdin: bytes = b"", check: bool = True) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@b")
    argv = ["git", *identity, *words]
    ran = subprocess.run(argv, cwd=folder, input=stdin, capture_output=True, check=False)
    assert not check or ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode("utf-8", "surrogateescape").strip()


class Rig:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "config", "user.name", "A")
        git(self.root, "config", "user.email", "a@b")
        self.answers: list[str | Exception] = []
        self.requests: list[Request] = []
        self.proposals: list[Proposal] = []
        self.approves: Callable[[Proposal], bool] = lambda proposal: True

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def stage(self, name: str, content: str | bytes) -> None:
        self.write(name, content)
        git(self.root, "--literal-pathspecs", "add", "-f", "--", name)

    def save(self, message: str = "chore: start") -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "--no-verify", "-m", message)

    def git(self, *words: str, check: bool = True) -> str:
        return git(self.root, *words, check=check)

    @property
    def seen(self) -> str:
        """All that a model got."""
        return "\n".join(str(message.content) for one in self.requests for message in one.messages)

    async def commit(self, settings: CommitSettings | None = None, **options: object) -> CommitResult | None:
        async def connect() -> CommitModel:
            return CommitModel(self._complete, FAUX_MODEL)

        async def approve(proposal: Proposal) -> bool:
            self.proposals.append(proposal)
            return self.approves(proposal)

        runner = LocalRunner()
        try:
            made = Committer(self.root, runner, settings or CommitSettings(), connect, approve)
            return await made.commit(CommitOptions(**options))  # type: ignore[arg-type]
        finally:
            runner.close()

    async def _complete(self, model: Model, request: Request) -> AssistantMessage:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else ProviderError("no more answers")
        if isinstance(answer, Exception):
            raise answer
        return AssistantMessage(
            [TextContent(answer)],
            api="faux",
            provider="faux",
            model="faux",
            usage=Usage(),
            stop_reason="stop",
            timestamp=0,
        )


def lines(count: int, changed: Sequence[int] = ()) -> str:
    return "".join(f"line {number}{' changed' if number in changed else ''}\n" for number in range(count))


def odd_name() -> str:
    return os.fsdecode(b"we\nird \xff;--name")
