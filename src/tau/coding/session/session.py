"""A session: one conversation with a model, its tools and its log. Every mode drives one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from tau.agent.event_bus import EventBus
from tau.agent.events import (
    AgentEvent,
    CompactionResult,
    EntryAppended,
    ModelChanged,
    Notice,
    SessionInfoChanged,
    ThinkingLevelChanged,
)
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome
from tau.agent.loop_owner import Complete, StreamFunction
from tau.agent.queue import Queue, user_message
from tau.agent.tool import Tool
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import (
    Attachment,
    BashExecutionMessage,
    ImageContent,
    PythonExecutionMessage,
)
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.context import CodingWorld
from tau.coding.output import command_limits
from tau.coding.resources import SessionResources
from tau.coding.session.activities import Activities
from tau.coding.session.compaction.compactor import Compactor
from tau.coding.session.entries import KnownEntry, MessageEntry, ModelChange, SessionInfo
from tau.coding.session.queue_file import persist_queue
from tau.coding.session.recovery import RunRecovery
from tau.coding.session.runner import AgentRunner, MoreTools, RequestSetup
from tau.coding.session.stats import UsageStats
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.approval.session_permissions import SessionPermissions
    from tau.coding.extensions import SessionExtensions
    from tau.coding.files.workspace_folders import WorkspaceFolders
    from tau.coding.hook_status import SessionHooks
    from tau.coding.plan.mode import PlanMode
    from tau.coding.rules.stream_rules import StreamRules
    from tau.coding.session.fallback import Fallbacks
    from tau.coding.session.titles import SessionTitle
    from tau.coding.session.todos import Todos
    from tau.coding.session.tree_navigation import Move, TreeNavigator
    from tau.coding.session.user_python import UserPython
    from tau.coding.session.user_shell import UserShell
    from tau.coding.supplies import Supplies
    from tau.coding.task.late_team import LateTeam
    from tau.coding.undo.recorder import Recorder

fallback = late("tau.coding.session.fallback")
retry = late("tau.coding.session.retry")
tree_navigation = late("tau.coding.session.tree_navigation")
event_stream = late("tau.agent.event_stream")
titles = late("tau.coding.session.titles")
user_python = late("tau.coding.session.user_python")
user_shell = late("tau.coding.session.user_shell")

CLOSED = "This session is closed; open it again to continue."
CLOSE_TIMEOUT_S = 5  # for running activities to end and be recorded


class SessionParts(Struct, frozen=True, kw_only=True):
    """What a session is composed of.

    `system` makes the system prompt for a model. `resolve_model` finds a fallback model by its pattern, or
    None if there is none or its key is missing.
    """

    log: SessionLog
    thinking: ThinkingLevel
    system: Callable[[Model], str]
    tools: Sequence[Tool[Any]]
    stream: StreamFunction
    complete: Complete
    world: CodingWorld
    hooks: Hooks
    queue: Queue
    events: EventBus
    activities: Activities
    plan: "PlanMode"
    permissions: "SessionPermissions"
    todos: "Todos"
    recorder: "Recorder | None" = None  # of file changes
    folders: "WorkspaceFolders | None" = None
    settings: Settings = Settings()
    resources: SessionResources = SessionResources()
    resolve_model: Callable[[str], Awaitable[Model | None]] | None = None
    notices: list[Notice] = []
    rules: "StreamRules | None" = None
    trusted: bool = False  # what the repository supplies may run
    title_prompt: str = ""  # the user's own, for titles
    supplies: "Callable[[], Supplies]"
    team: "LateTeam | None" = None
    extensions: "SessionExtensions | None" = None
    more: MoreTools = MoreTools()
    command_hooks: "SessionHooks | None" = None  # None if no file could have one


class Session:
    """Owns its parts. Modes use `log`, `models`, `queue`, `tree`, `names`, `compaction`, `retry`, `stats`,
    `plan`, `permissions`, `todos`, `recorder`, `folders`, `sandbox`, `jobs`, `tools`, `urls`, `requests`,
    `supplies`, `servers` (of MCP), `command_hooks`, `complete`, `extensions` and `settings`; `setup` returns
    the next request's setup. `may_leave` asks the hooks whether another session may replace this one.

    A prompt goes from `prompt` through `AgentRunner.run_prompt` to the agent's `run_loop`.
    Each activity that can be stopped takes its abort from `activities`; `abort` stops the innermost one, and
    the work done so far is recorded. `subscribe` registers a listener and returns a function that removes it.
    """

    def __init__(self, parts: SessionParts) -> None:
        self._parts, self._closed, self.permissions, self.log = parts, False, parts.permissions, parts.log
        self.models, self.jobs, self.plan = parts.world.models, parts.world.jobs, parts.plan
        self.tools, self.urls, self.queue = parts.tools, parts.world.urls, parts.queue
        self.settings, self.trusted, self.hooks = parts.settings, parts.trusted, parts.hooks
        self.sandbox, self.language_servers = parts.resources.sandbox, parts.resources.language_servers
        self.todos, self.recorder, self.folders = parts.todos, parts.recorder, parts.folders
        self.supplies, self.complete, self.command_hooks = parts.supplies, parts.complete, parts.command_hooks
        self.browser, self.memory = parts.resources.browser, parts.resources.memory
        self.cwd, self.servers, self.subscribe = parts.world.cwd, parts.more.servers, parts.events.subscribe
        self.activities, self.abort, self.emit = parts.activities, parts.activities.abort, parts.events.emit
        self.stats, self.extensions, self.team = UsageStats(parts.log), parts.extensions, parts.team
        self.spawn = None if parts.team is None else parts.team.spawn
        self.requests = RequestSetup(
            log=parts.log,
            models=self.models,
            thinking=parts.thinking,
            system=parts.system,
            tools=parts.tools,
            settings=parts.settings,
            plan=parts.plan,
            more=parts.more,
        )
        if parts.folders is not None:
            parts.folders.on_change(lambda _: self.requests.renew_prompt())
        self.setup, self.record_changes = self.requests.build, self.requests.record_changes
        self.compaction = Compactor(
            log=parts.log,
            settings=parts.settings.compaction,
            complete=parts.complete,
            setup=self.setup,
            emit=self.emit,
            hooks=parts.hooks,
        )
        self.retry = RunRecovery(
            log=parts.log,
            settings=parts.settings.retry,
            model=self.requests.model,
            limits=self.requests.limits,
            emit=self.emit,
            compact=self.compaction.make_room,
            fallbacks=_make_fallbacks(parts, self.requests),
            rules=parts.rules,
        )
        parts.events.watch(self.retry.observe)
        self._runner = AgentRunner(
            log=parts.log,
            queue=parts.queue,
            hooks=parts.hooks,
            next_request=self.requests,
            recovery=self.retry,
            stream=parts.stream,
            world=parts.world,
            emit=self.emit,
            activities=parts.activities,
            recorder=parts.recorder,
            rules=parts.rules,
        )
        self.notices = [*parts.notices, *persist_queue(parts.queue, parts.log, self.emit)]
        self.call_tool, parts.log.on_append = self._runner.call, partial(_report_entry, self.emit)

    @property
    def model(self) -> Model:
        return self.models.default

    @property
    def thinking(self) -> ThinkingLevel:
        return self.requests.thinking

    @property
    def busy(self) -> bool:
        return self.activities.any

    @cached_property
    def tree(self) -> "TreeNavigator":
        parts = self._parts
        return tree_navigation.TreeNavigator(
            self.log, parts.hooks, parts.complete, lambda: self.model, parts.settings.branch_summary
        )

    @cached_property
    def names(self) -> "SessionTitle":
        return titles.SessionTitle(
            self.log,
            self._parts.complete,
            lambda: self.models.role("smol"),
            enabled=self._parts.settings.titles.enabled,
            thinking=lambda: self.models.level("smol"),
            instructions=self._parts.title_prompt,
        )

    @cached_property
    def _user_runners(self) -> "tuple[UserShell, UserPython | None]":
        """Run the lines that start with `!` and `$`."""
        parts = self._parts

        def busy() -> bool:
            return self.activities.running

        shell = user_shell.UserShell(
            world=parts.world,
            log=self.log,
            queue=self.queue,
            hooks=parts.hooks,
            emit=self.emit,
            busy=busy,
            limits=command_limits(parts.settings.tools),
            shell=parts.resources.shell,
        )
        if parts.resources.kernels is None:
            return shell, None
        python = user_python.UserPython(
            kernels=parts.resources.kernels,
            cwd=self.cwd,
            log=self.log,
            queue=self.queue,
            hooks=parts.hooks,
            busy=busy,
        )
        return shell, python

    async def prompt(
        self, text: str, images: Sequence[ImageContent] = (), attachments: Sequence[Attachment] = ()
    ) -> Outcome:
        """Send a message and work until the model stops. While busy, use `steer` or `follow_up`."""
        if self._closed:
            raise TauError(CLOSED)
        return await self._runner.run(lambda: user_message(text, images, attachments))

    async def go_on(self, *, moved: Callable[[], None] | None = None, results: bool = False) -> Outcome:
        """Retry the last request, which failed or was stopped; only the new answer is logged.

        A partial answer stays on its own branch; `moved` is called in that case. Raises TauError if there is
        nothing to retry. With `results`, work on those of background jobs that ended since instead.
        """
        if self._closed:
            raise TauError(CLOSED)

        def rewind() -> None:
            if not results and retry.rewind_failed_turn(self.log) and moved is not None:
                moved()

        return await self._runner.run(rewind)

    def stream(self, text: str, images: Sequence[ImageContent] = ()) -> AsyncGenerator[AgentEvent, None]:
        """Prompt and yield the events. Leaving early stops the run."""
        return event_stream.stream_events(self.subscribe, lambda: self.prompt(text, images))

    async def abort_and_prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Stop all activities, wait until they are recorded, then prompt; the queue stays as it is."""
        await self.activities.end()
        return await self.prompt(text, images)

    def steer(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Send a message between turns of the current run."""
        self.queue.steer(user_message(text, images))

    def follow_up(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Queue a message for when the agent would stop."""
        self.queue.follow_up(user_message(text, images))

    async def bash(
        self, command: str, *, exclude: bool = False, show: Callable[[str], None] | None = None
    ) -> BashExecutionMessage:
        """Run a user's command. The model sees it with the next prompt, unless `exclude`."""
        with self.activities.begin(bash=True) as abort:
            return await self._user_runners[0].run(command, exclude=exclude, abort=abort, show=show)

    async def python(
        self, code: str, *, exclude: bool = False, show: Callable[[str], None] | None = None
    ) -> PythonExecutionMessage:
        """Run a user's Python code in the kernel of the eval tool."""
        runner = self._user_runners[1]
        if runner is None:
            raise TauError("This session has no Python kernel.")
        with self.activities.begin() as abort:
            return await runner.run(code, exclude=exclude, abort=abort, show=show)

    async def compact(self, focus: str = "") -> CompactionResult:
        """Summarize older messages to free up context. Raises TauError or Aborted."""
        with self.activities.begin(run=True) as abort:
            return await self.compaction.compact(focus, abort)

    async def goto(self, target: str, *, summarize: bool = False, instructions: str | None = None) -> "Move":
        """Continue from another entry of the tree; see `TreeNavigator.goto`."""
        with self.activities.begin(run=True) as abort:
            return await self.tree.goto(target, summarize=summarize, instructions=instructions, abort=abort)

    def use_model(self, model: Model) -> None:
        """Switch models from the next request on."""
        self.models.default = model
        self.retry.on_model_chosen()
        self.record_changes()

    def use_thinking(self, level: ThinkingLevel) -> None:
        self.requests.thinking = level
        self.record_changes()
        self.emit(ThinkingLevelChanged(level))

    async def close(self) -> None:
        """Stop all activities, wait until they are recorded, and release the log."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.activities.end()
                await self._runner.end()
        self._closed = True
        self.log.close()


def _report_entry(emit: Callable[[AgentEvent], None], entry: KnownEntry) -> None:
    """Emit what a new entry of the log changes."""
    match entry:
        case MessageEntry():
            pass  # it has its own events
        case ModelChange():
            emit(ModelChanged(entry.provider, entry.model_id))
        case SessionInfo():
            emit(SessionInfoChanged(entry.name or UNSET))
        case _:
            emit(EntryAppended(entry))


def _make_fallbacks(parts: SessionParts, setup: RequestSetup) -> "Fallbacks | None":
    """None unless the user has configured fallback chains."""
    if not parts.settings.retry.fallback_chains or parts.resolve_model is None:
        return None
    return fallback.Fallbacks(
        parts.settings.retry,
        parts.log,
        model=setup.model,
        use_model=setup.switch_model,
        emit=parts.events.emit,
        resolve=parts.resolve_model,
        roles=setup.models.names,
    )
