"""A context for one tool call, made of the real parts: files, processes, artifacts."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tau.agent.output import ToolOutput
from tau.agent.ports import FileSystem
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.wire import TextContent
from tau.base.errors import ToolError
from tau.base.run import LocalRunner, Runner
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts
from tau.coding.conflicts.store import ConflictStore, ConflictUrls
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.files.seen_files import SeenFiles
from tau.coding.internal_urls.artifact import ArtifactUrls
from tau.coding.internal_urls.router import SchemeRouter
from tau.coding.ports import Checkpoint
from tau.coding.todo.list import MemoryTodos


class FakeCheckpoints:
    """Remembers what the tools asked for."""

    def __init__(self, problem: str | None = None) -> None:
        self.active: Checkpoint | None = None
        self.reports: list[str] = []
        self._problem = problem

    def mark(self, checkpoint: Checkpoint) -> None:
        self.active = checkpoint

    def rewind(self, report: str) -> str | None:
        self.reports.append(report)
        if self._problem is None:
            self.active = None
        return self._problem


@dataclass
class CallContext:
    cwd: Path
    artifacts: FolderArtifacts
    fs: FileSystem = field(default_factory=LocalFileSystem)
    run: Runner = field(default_factory=LocalRunner)
    ui: Ui | None = None
    urls: SchemeRouter = field(default_factory=SchemeRouter)
    snapshots: SeenFiles = field(default_factory=SeenFiles)
    models: Any = None
    jobs: Any = None
    todos: Any = field(default_factory=MemoryTodos)
    checkpoints: Any = field(default_factory=FakeCheckpoints)
    conflicts: ConflictStore = field(default_factory=ConflictStore)
    call_id: str = "call_1"
    updates: list[ToolOutput] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.urls.register(ArtifactUrls())
        self.urls.register(ConflictUrls(self.conflicts))

    def update(self, partial: ToolOutput) -> None:
        self.updates.append(partial)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        raise ToolError("Other tools cannot be called from here.")


@contextmanager
def call_context(cwd: Path) -> Iterator[CallContext]:
    artifacts = TemporaryArtifacts()
    try:
        yield CallContext(cwd, artifacts)
    finally:
        artifacts.close()


async def call(tool: Tool[Any], ctx: CallContext, **arguments: Any) -> ToolOutput:
    """Run a call as the loop does: decode, ask for the effects, run."""
    params, ignored = tool.decode(arguments)
    assert not ignored
    tool.effects(params, ctx.cwd)
    return await tool.run(params, ctx)


def call_now(tool: Tool[Any], ctx: CallContext, **arguments: Any) -> ToolOutput:
    return asyncio.run(call(tool, ctx, **arguments))


def text_of(output: ToolOutput) -> str:
    return "\n".join(part.text for part in output.content if isinstance(part, TextContent))


class FakeUi:
    """Answers `select` from a list, and notes what was asked."""

    def __init__(self, answers: Sequence[str | None]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.offered: list[list[str]] = []
        self.open = 0
        self.most_open = 0

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self.asked.append(title)
        self.offered.append(list(options))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        return self.answers.pop(0)

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        raise NotImplementedError

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        raise NotImplementedError

    async def editor(self, title: str, prefill: str = "") -> str | None:
        raise NotImplementedError

    def notify(self, message: str, level: Any = "info") -> None:
        raise NotImplementedError

    def status(self, key: str, text: str | None) -> None:
        raise NotImplementedError

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        raise NotImplementedError

    def title(self, text: str) -> None:
        raise NotImplementedError

    async def custom(self, component: Any) -> Any:
        raise NotImplementedError
