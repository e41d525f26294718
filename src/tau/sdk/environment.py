"""What a session's tools work with: files, processes, artifacts, jobs, internal URLs."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.event_bus import EventBus
from tau.agent.events import AgentEvent, JobChanged, Notice, TurnEnd
from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.ports import FileSystem
from tau.agent.queue import Queue
from tau.agent.ui import Ui
from tau.ai.wire import ToolCall
from tau.base.late import late
from tau.base.run import Runner
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts
from tau.coding.context import CodingWorld, ModelRoles
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.files.seen_files import SeenFiles
from tau.coding.files.workspace_folders import WorkspaceFolders
from tau.coding.internal_urls.router import SchemeRouter
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.output import command_limits
from tau.coding.pending_changes import PendingChanges
from tau.coding.plan.mode import PlanMode
from tau.coding.ports import CodingDialogs, Job
from tau.coding.resources import SessionResources
from tau.coding.sandbox import LateSandbox
from tau.coding.session.activities import Activities
from tau.coding.session.checkpoints import SessionCheckpoints
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import Later, TodoRules, Todos, call_later
from tau.coding.task.late_team import LateTeam
from tau.coding.undo.recorder import Recorder
from tau.config.discovery.providers import has_any
from tau.config.paths import PROJECT_FOLDER, Paths
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.base.run import LocalRunner
    from tau.coding.github.access import GithubAccess
    from tau.coding.memory.port import Memory
    from tau.coding.nested_instructions import NestedInstructions
    from tau.coding.session.session import Session
    from tau.coding.supplies import Supplies
    from tau.coding.task.subagent_options import SubagentOptions
    from tau.coding.untrusted_text import Fence
    from tau.config.discovery.providers import Root
    from tau.ext.extensions.host import ExtensionHost
    from tau.sdk.delegation import Compose
    from tau.sdk.models import SessionModels
    from tau.sdk.options import SessionOptions

language_servers = late("tau.sdk.language_servers")
debuggers = late("tau.sdk.debuggers")
dap = late("tau.backends.dap")
lsp = late("tau.backends.lsp")
markers = late("tau.config.program_markers")
trust = late("tau.config.trust")
edit_diagnostics = late("tau.coding.lsp.edit_diagnostics")
fences = late("tau.coding.untrusted_text")
nested = late("tau.coding.nested_instructions")
merge_conflicts = late("tau.coding.conflicts.merge_conflicts")
delivery = late("tau.coding.jobs.delivery")
memory_urls = late("tau.coding.memory.urls")
github_urls = late("tau.coding.github.urls")
schemes = late("tau.coding.internal_urls.schemes")
delegation = late("tau.sdk.delegation")
task_urls = late("tau.coding.task.urls")
shown_tags = late("tau.coding.session.shown_tags")


class ToolEnvironment(Struct, frozen=True, kw_only=True):
    """What a session's tools work with, and the parts of it that the session uses itself.

    Nothing starts before `open`.
    """

    world: CodingWorld
    artifacts: FolderArtifacts
    events: EventBus
    activities: Activities
    pending_changes: PendingChanges
    plan: PlanMode
    todos: Todos
    checkpoints: SessionCheckpoints
    jobs: SessionJobs
    queue: Queue
    recorder: Recorder
    team: LateTeam

    def session_parts(self) -> dict[str, Any]:
        """What a session is composed of besides."""
        names = ("plan", "todos", "recorder", "queue", "events", "activities", "team")
        return {name: getattr(self, name) for name in names}

    async def open(self, services: AsyncExitStack) -> None:
        """Start the background parts; they end with `services`."""
        services.callback(self.close)
        await services.enter_async_context(self.recorder)
        await services.enter_async_context(self.jobs)

    def close(self) -> None:
        """Release files and timers; call it after the parts that `open` started have ended."""
        self.todos.close()
        self.recorder.close()
        self.artifacts.close()


async def open_team(
    compose: "Compose",
    session: "Session",
    environment: ToolEnvironment,
    models: "SessionModels",
    options: "SessionOptions",
    roots: "Sequence[Root]",
    outer: "tuple[Paths, Mapping[str, str], AsyncExitStack, LocalRunner]",
    host: "ExtensionHost | None",
) -> None:
    """Let the session have agents, or be one's. None are loaded unless an earlier process left some."""
    team, subagent = environment.team, options.agent
    if subagent is not None:
        team.make = lambda: subagent.team
        session.requests.cache_key = subagent.cache_key
        return
    team.others = has_any(roots, ("agents",)) or bool(session.settings.task.disabled_agents)
    guards = () if host is None else (host.hooks,)
    team.make = lambda: delegation.make_team(session, compose, options, outer, environment, models, guards)
    await team.restore(session.log.artifacts_folder)


def _artifacts(folder: Path | None, subagent: "SubagentOptions | None") -> FolderArtifacts:
    if subagent is not None:
        return subagent.artifacts
    return TemporaryArtifacts() if folder is None else FolderArtifacts(folder)


def make_environment(
    log: SessionLog,
    cwd: Path,
    runner: Runner,
    models: ModelRoles,
    settings: Settings,
    *,
    ui: Ui | None = None,
    dialogs: CodingDialogs | None = None,
    disk: FileSystem | None = None,
    later: Later = call_later,
    events: EventBus | None = None,
    subagent: "SubagentOptions | None" = None,
) -> ToolEnvironment:
    """Wire the ports of tools: the one way for a session, a single call and a test. `log` is theirs."""
    queue = Queue(settings.steering_mode, settings.follow_up_mode)
    events, activities, pending_changes = events or EventBus(), Activities(), PendingChanges()
    artifacts = _artifacts(log.artifacts_folder, subagent)
    plan = PlanMode(log, artifacts, models, pending_changes, enabled=settings.plan.enabled)
    checkpoints = SessionCheckpoints(log, queue, events.emit)
    todos = _todos(log, queue, settings, events, activities, plan, checkpoints, later)
    recorder = Recorder(
        lambda: _history_folder(log, artifacts),
        runner,
        warn=lambda text: events.emit(Notice("warning", text)),
        saved=log.path is not None,
    )
    events.watch(recorder.on_event)
    jobs = _jobs(queue, settings, artifacts, events)
    conflicts = cache(lambda: merge_conflicts.ConflictStore())
    world = CodingWorld(
        cwd=cwd,
        fs=(fs := recorder.fs(disk or LocalFileSystem())),
        run=runner,
        artifacts=artifacts,
        ui=ui,
        dialogs=dialogs,
        urls=_urls(artifacts, fs, conflicts),
        conflicts=conflicts,
        snapshots=_seen_files(log, events),
        models=models,
        jobs=jobs,
        todos=todos,
        checkpoints=checkpoints,
    )
    return ToolEnvironment(
        world=world,
        artifacts=artifacts,
        events=events,
        activities=activities,
        pending_changes=pending_changes,
        plan=plan,
        todos=todos,
        checkpoints=checkpoints,
        jobs=jobs,
        queue=queue,
        recorder=recorder,
        team=LateTeam("" if subagent is None else subagent.id),
    )


def _todos(
    log: SessionLog,
    queue: Queue,
    settings: Settings,
    events: EventBus,
    activities: Activities,
    plan: PlanMode,
    checkpoints: SessionCheckpoints,
    later: Later,
) -> Todos:
    """The todo list; it watches the events, and so do the checkpoints if they are enabled."""
    reminders, may_rewind = settings.todo.reminders, settings.checkpoint.enabled
    todos = Todos(
        log,
        queue,
        events.emit,
        TodoRules(
            reminders=reminders.enabled,
            max_reminders=reminders.max,
            clear_delay_s=settings.tasks.todo_clear_delay,
        ),
        running=lambda: activities.running,
        quiet=lambda: plan.on or (may_rewind and checkpoints.active is not None),
        later=later,
    )
    events.watch(todos.observe)
    if may_rewind:
        # After the list, which is recorded before a rewind moves the branch.
        events.watch(checkpoints.observe)
    return todos


def _seen_files(log: SessionLog, events: EventBus) -> SeenFiles:
    """What the model has seen; the tags it got are recorded at the end of each turn."""
    seen_files = SeenFiles(lambda: shown_tags.load(log))

    def observe(event: AgentEvent) -> None:
        if isinstance(event, TurnEnd) and (tags := seen_files.take_new_tags()):
            shown_tags.record(log, tags)

    events.watch(observe)
    return seen_files


def _urls(
    artifacts: FolderArtifacts, fs: FileSystem, conflicts: "Callable[[], merge_conflicts.ConflictStore]"
) -> SchemeRouter:
    """Session files are read and written without approval; conflicts are in the user's files."""
    router = SchemeRouter()
    router.register_late("agent", lambda: task_urls.AgentUrls(artifacts))
    router.register_late("history", lambda: task_urls.HistoryUrls(artifacts))
    router.register_late("artifact", lambda: schemes.ArtifactUrls(fs))
    router.register_late("conflict", lambda: merge_conflicts.ConflictUrls(conflicts()))
    router.register_late("local", lambda: schemes.LocalUrls(artifacts, fs))
    router.register_late("tau", lambda: schemes.DocsUrls())
    return router


def register_memory(environment: ToolEnvironment, memory: "Memory | None") -> None:
    if memory is None:
        return
    environment.world.urls.register_late("memory", lambda: memory_urls.MemoryUrls(memory))
    if memory.remote is not None:
        memory.remote.queue.warn = lambda text: environment.events.emit(Notice("warning", text))
        memory.remote.queue.wake()


def register_github(environment: ToolEnvironment, access: "GithubAccess | None") -> None:
    """Without access, the URLs say how to get it."""
    urls = environment.world.urls
    urls.register_late("issue", lambda: github_urls.ThreadUrls("issue", access))
    urls.register_late("pr", lambda: github_urls.ThreadUrls("pr", access))
    if access is not None:
        environment.events.watch(access.observe)
        access.warn = lambda text: environment.events.emit(Notice("warning", text))


def _jobs(queue: Queue, settings: Settings, artifacts: FolderArtifacts, events: EventBus) -> SessionJobs:
    """Background jobs report their end to the conversation, and each change as an event."""
    jobs = SessionJobs(
        lambda job: delivery.put_result(queue, job),
        retract=lambda id: delivery.retract_result(queue, id),
        max_running=settings.async_.max_jobs,
        artifacts=artifacts,
        limits=command_limits(settings.tools),
    )
    jobs.on_change = lambda job: events.emit(_job_event(job))
    jobs.on_delivered = lambda job: events.emit(_job_event(job, queued=True))
    return jobs


def _job_event(job: Job, *, queued: bool = False) -> JobChanged:
    return JobChanged(job.id, job.status, job.label, job.duration_ms, queued)


def _history_folder(log: SessionLog, artifacts: FolderArtifacts) -> Path:
    """The folder for files as they were before the agent changed them, next to the session."""
    if log.artifacts_folder is not None:
        return log.artifacts_folder / "history"
    scratch = artifacts.scratch(make=True)
    assert scratch is not None
    return scratch.with_name("history")


async def add_code_intelligence(
    resources: SessionResources,
    options: "SessionOptions",
    shared: "tuple[Runner, Paths, Settings, Mapping[str, str], AsyncExitStack]",
    environment: ToolEnvironment,
    trusted: bool,
) -> tuple[SessionResources, Hooks | None]:
    """Language servers and what shows their diagnostics, and debuggers: all that fit the folder.

    Where tools work on another machine, there are none.
    """
    if options.wrap_runner or options.disk or not _has_files(options.cwd):
        return resources, None
    runner, paths, settings, environ, services = shared

    def has_changed() -> bool:
        return not options.trust and trust.has_changed(options.cwd, paths)

    if settings.debug.enabled and markers.may_have_programs(dap.TABLE, "dap", options.cwd, paths):
        sessions = await debuggers.open_debuggers(
            options.cwd, paths, environ, runner, services, trusted=trusted
        )
        if sessions is not None:
            sessions.has_changed = has_changed
        resources = replace(resources, debuggers=sessions)
    if not options.lsp or not settings.lsp.enabled or (options.agent and not settings.task.enable_lsp):
        return resources, None
    if not markers.may_have_programs(lsp.TABLE, "lsp", options.cwd, paths):
        return resources, None
    servers = options.parent_language_servers
    if servers is None or options.agent is None or servers.cwd != options.cwd:
        servers = await language_servers.open_language_servers(
            options.cwd, settings.lsp, paths, environ, runner, services, trusted=trusted
        )
        if servers is not None:
            servers.has_changed = has_changed
    if servers is None:
        return resources, None
    hook = edit_diagnostics.EditDiagnostics(servers, settings.lsp, environment.queue, options.cwd)
    return replace(resources, language_servers=servers), hook


def _has_files(cwd: Path) -> bool:
    """Whether there is anything that could mark a project; an empty folder has no servers."""
    try:
        with os.scandir(cwd) as entries:
            return any(entry.name != PROJECT_FOLDER for entry in entries)
    except OSError:
        return False


class LateFence(Hooks):
    """Fences results whose text is from outside; loaded with the first call."""

    def __init__(
        self,
        folders: WorkspaceFolders,
        sandbox: LateSandbox | None,
        jobs: SessionJobs,
        *,
        is_distrusted: bool,
    ) -> None:
        self._folders = folders
        self._sandbox = sandbox
        self._is_distrusted = is_distrusted
        jobs.find_origin = lambda: self._fence.find_job_origin()

    async def before_tool(self, question: ToolQuestion) -> None:
        await self._fence.before_tool(question)

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        return await self._fence.after_tool(call, output)

    @cached_property
    def _fence(self) -> "Fence":
        sandbox = self._sandbox
        if sandbox is None:
            return fences.Fence(lambda: self._folders.all, is_distrusted=self._is_distrusted)
        return fences.Fence(
            lambda: (*self._folders.all, *((sandbox.temporary_folder(),) if sandbox.is_started else ())),
            is_distrusted=self._is_distrusted,
            mark=lambda: sandbox.commands.mark() if sandbox.is_started else 0,
            hosts=lambda mark: sandbox.commands.reached_hosts(mark) if sandbox.is_started else (),
        )


class LateNestedContext(Hooks):
    """Sends the instructions of folders that a tool touches; loaded with the first call that touches one."""

    def __init__(
        self,
        supplies: "Callable[[], Supplies]",
        folders: WorkspaceFolders,
        conversation: SessionLog,
        queue: Queue,
        settings: Settings,
    ) -> None:
        self._make: Callable[[], NestedInstructions] = lambda: nested.NestedInstructions(
            supplies(), lambda: folders.all, conversation.messages, queue
        )
        self._folders = folders
        self._enabled = settings.context_files.enabled

    async def before_tool(self, question: ToolQuestion) -> None:
        if self._enabled and self._is_inner(question.effects):
            await self._hook.before_tool(question)

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        return await self._hook.after_tool(call, output) if "_hook" in self.__dict__ else output

    @cached_property
    def _hook(self) -> "NestedInstructions":
        return self._make()

    def _is_inner(self, effects: Effects) -> bool:
        """Whether a call touches anything but the files of the working folder itself."""
        cwd = self._folders.all[0]
        return any(path != cwd and path.parent != cwd for path in (*effects.reads, *effects.writes))
