"""A session with the scripted model, a todo list, checkpoints and plan mode."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from tau.agent.events import AgentEvent
from tau.agent.hooks import HookChain
from tau.agent.loop import Outcome
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.assembler import complete
from tau.ai.dialect import Delta, Request
from tau.ai.faux import FAUX_MODEL, Faux, FauxStep
from tau.ai.model import Model
from tau.ai.wire import ImageContent, ToolResultMessage, text_of
from tau.base.run import LocalRunner
from tau.coding.approval.policy import Workspace
from tau.coding.approval.session_permissions import SessionPermissions
from tau.coding.approval.tool_approval import ApprovalHook
from tau.coding.context import ModelRoles
from tau.coding.ports import CodingDialogs
from tau.coding.session.session import Session, SessionParts
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import Later, TodoRules
from tau.coding.supplies import Supplies
from tau.coding.tools.bash import Bash
from tau.coding.tools.checkpoint import MarkCheckpoint
from tau.coding.tools.read import Read
from tau.coding.tools.resolve import Resolve
from tau.coding.tools.rewind import Rewind
from tau.coding.tools.todo import Todo
from tau.coding.tools.write import Write
from tau.config.paths import user_paths
from tau.config.settings import RetrySettings, Settings
from tau.config.tool_settings import CheckpointSettings, TasksSettings, TodoRemindersSettings, TodoSettings
from tau.sdk.environment import ToolEnvironment, make_environment
from tests.agent.agent_rig import Echo, EchoParams
from tests.support.limits import HANG_S


class Indirect(Tool[EchoParams]):
    """Completes a task through a nested call, like code in a cell does."""

    name, label, description = "indirect", "Indirect", "Calls todo."

    async def run(self, params: EchoParams, ctx: Any) -> ToolOutput:
        output: ToolOutput = await ctx.call("todo", {"ops": [{"op": "done", "task": params.text}]})
        return output


MADE: list[ToolEnvironment] = []  # by a test; the fixture `closing` closes them


def settings_with(rules: TodoRules) -> Settings:
    return Settings(
        retry=RetrySettings(max_retries=0),
        checkpoint=CheckpointSettings(enabled=True),
        todo=TodoSettings(reminders=TodoRemindersSettings(enabled=rules.reminders, max=rules.max_reminders)),
        tasks=TasksSettings(todo_clear_delay=int(rules.clear_delay_s)),
    )


class FakeTimers:
    """Time passes when `ring` is called."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, action: Callable[[], None]) -> "FakeTimer":
        self.waiting.append((seconds, action))
        return FakeTimer(self, (seconds, action))

    def ring(self) -> None:
        waiting, self.waiting = self.waiting, []
        for _, action in waiting:
            action()


class FakeTimer:
    def __init__(self, timers: FakeTimers, entry: tuple[float, Callable[[], None]]) -> None:
        self._timers = timers
        self._entry = entry

    def cancel(self) -> None:
        if self._entry in self._timers.waiting:
            self._timers.waiting.remove(self._entry)


class SessionRig(Session):
    """`asked` lists the models that requests went to."""

    def __init__(
        self,
        script: Sequence[Sequence[FauxStep]],
        cwd: Path,
        *,
        log: SessionLog | None = None,
        rules: TodoRules | None = None,
        later: Later | None = None,
        ui: Ui | None = None,
        dialogs: CodingDialogs | None = None,
        plan_model: Model | None = None,
    ) -> None:
        self.faux = Faux(script)
        log = log or SessionLog.new(None, cwd)
        models = ModelRoles(FAUX_MODEL, {"plan": plan_model} if plan_model else None)
        self.asked: list[Model] = []
        self.timers = FakeTimers()
        settings = settings_with(rules or TodoRules())
        environment = make_environment(
            log,
            cwd,
            LocalRunner(),
            models,
            settings,
            ui=ui,
            dialogs=dialogs,
            later=later or self.timers.later,
        )
        MADE.append(environment)
        self.artifacts = environment.artifacts
        self.checkpoints = environment.checkpoints
        permissions = SessionPermissions(
            settings.tools, environment.plan, log, environment.events.emit, sandbox_off=True
        )
        approval = ApprovalHook(
            Workspace.of((cwd,)),
            permissions,
            dialogs=dialogs,
        )
        super().__init__(
            SessionParts(
                log=log,
                thinking="off",
                system=lambda model: "You work.",
                tools=[
                    *(Read(settings), Bash(settings), Write(settings), Resolve(environment.pending_changes)),
                    *(Todo(), MarkCheckpoint(), Rewind(), Echo(), Indirect()),
                ],
                stream=self._stream,
                world=environment.world,
                hooks=HookChain([approval, environment.recorder]),
                permissions=permissions,
                queue=environment.queue,
                events=environment.events,
                activities=environment.activities,
                plan=environment.plan,
                todos=environment.todos,
                recorder=environment.recorder,
                settings=settings,
                supplies=lambda: Supplies(cwd, user_paths(), settings),
                complete=lambda model, request: complete(self.faux.stream, model, request),
            )
        )
        self.events: list[AgentEvent] = []
        self.subscribe(self.events.append)

    def _stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        self.asked.append(model)
        return self.faux.stream(model, request)

    def follow(self, script: Sequence[Sequence[FauxStep]]) -> None:
        """Another script, for one that needs the object itself."""
        self.faux = Faux(script)

    async def prompt(self, text: str = "go", images: Sequence[ImageContent] = ()) -> Outcome:
        async with asyncio.timeout(HANG_S):
            return await super().prompt(text, images)

    def go(self, text: str = "go") -> Outcome:
        return asyncio.run(self.prompt(text))

    @property
    def results(self) -> list[str]:
        """The tool results on this branch."""
        return [text_of(m.content) for m in self.log.messages() if isinstance(m, ToolResultMessage)]

    def sent(self, number: int = -1) -> list[str]:
        """The texts of a request, message by message."""
        messages: list[Any] = list(self.faux.requests[number].messages)
        return [
            m.content if isinstance(m.content, str) else text_of([p for p in m.content if hasattr(p, "text")])
            for m in messages
        ]
