"""A context for one tool call, wired like in a session: recorded files, processes, artifacts."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tau.agent.approved_effects import ApprovedEffects
from tau.agent.events import AgentEvent, Notice
from tau.agent.output import ToolOutput
from tau.agent.ports import FileSystem
from tau.agent.tool import Tool
from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage
from tau.backends.shell.terminal import TerminalInput
from tau.base.run import LocalRunner
from tau.coding.context import CodingCall, ModelRoles
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import Settings
from tau.sdk.environment import ToolEnvironment, make_environment


class CallContext(CodingCall):
    """What a tool gets in a session. `updates` holds its progress output, `warnings` the user's warnings.

    `use_disk` replaces the file system, for tests that need one that fails or is slow.
    """

    def __init__(self, environment: ToolEnvironment, log: SessionLog, warnings: list[str]) -> None:
        self.updates: list[ToolOutput] = []
        self.environment = environment
        self.log = log
        self.warnings = warnings
        super().__init__(environment.world, ToolCall("call_1", "tool", {}), self.updates.append)

    def use_disk(self, disk: FileSystem) -> None:
        self._use_disk(self.environment.recorder.fs(disk))


@contextmanager
def call_context(cwd: Path, folder: Path | None = None) -> Iterator[CallContext]:
    """In a session saved in `folder`, or unsaved."""
    log = SessionLog.new(folder, cwd)
    warnings: list[str] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, Notice):
            warnings.append(event.message)

    environment = make_environment(log, cwd, LocalRunner(), ModelRoles(FAUX_MODEL), Settings())
    environment.events.subscribe(hear)
    try:
        yield CallContext(environment, log, warnings)
    finally:
        environment.close()
        log.close()


async def call(tool: Tool[Any], ctx: CallContext, **arguments: Any) -> ToolOutput:
    """Run a call like the loop: decode, ask for the effects, run it bound to them."""
    params, ignored = tool.decode(arguments)
    assert not ignored
    effects = tool.effects(params, ctx.cwd)
    return await tool.run(params, ctx.bound(ApprovedEffects(effects)))


def call_now(tool: Tool[Any], ctx: CallContext, **arguments: Any) -> ToolOutput:
    return asyncio.run(call(tool, ctx, **arguments))


def call_in_conversation(tool: Tool[Any], ctx: CallContext, **arguments: Any) -> ToolOutput:
    """Run a call with its answer and result in the log, where checkpoints look for them."""
    asked = ToolCall(f"call_{len(ctx.log.messages())}", tool.name, arguments)
    model = FAUX_MODEL
    ctx.log.append_message(
        AssistantMessage([asked], model.api, model.provider, model.id, Usage(), "toolUse", timestamp=0)
    )
    output = call_now(tool, ctx, **arguments)
    ctx.log.append_message(
        ToolResultMessage(
            tool_call_id=asked.id,
            tool_name=tool.name,
            content=output.content,
            is_error=output.is_error,
            timestamp=0,
            details=output.details,
        )
    )
    return output


def text_of(output: ToolOutput) -> str:
    return "\n".join(part.text for part in output.content if isinstance(part, TextContent))


class FakeDialogs:
    """A UI with a screen; a test overrides the dialogs it expects."""

    terminal: TerminalInput | None = None

    async def approve(self, request: Any) -> Any:
        raise NotImplementedError

    async def ask_questions(self, asked: Any, timeout_s: float | None) -> Any:
        raise NotImplementedError

    async def review_plan(self, plan: Any) -> Any:
        raise NotImplementedError


class FakeUi:
    """Answers `select` from a list and records the questions."""

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
