"""What a session's tools work with: files, processes, artifacts, jobs, internal URLs."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

from msgspec import Struct

from tau.agent.event_bus import EventBus
from tau.agent.events import AgentEvent, Notice
from tau.agent.ports import FileSystem
from tau.agent.queue import Queue
from tau.agent.ui import Ui
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts
from tau.coding.context import CodingWorld, ModelRoles
from tau.coding.files.seen_files import SeenFiles
from tau.coding.internal_urls.router import SchemeRouter
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.output import OutputLimits
from tau.coding.plan.mode import PlanMode
from tau.coding.session.activities import Activities
from tau.coding.session.checkpoints import SessionCheckpoints
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import TodoRules, Todos
from tau.coding.todo.list import MemoryTodos
from tau.coding.undo.recorder import Recorder
from tau.config.settings import Settings

artifact_urls = late("tau.coding.internal_urls.artifact")
store = late("tau.coding.conflicts.store")
docs_urls = late("tau.coding.internal_urls.docs")
delivery = late("tau.coding.jobs.delivery")
local_urls = late("tau.coding.internal_urls.local")


class SessionTrackers(Struct, frozen=True):
    """The todo list and the checkpoints, as recorded in the log."""

    todos: Todos
    checkpoints: SessionCheckpoints


async def open_world(
    cwd: Path,
    fs: FileSystem,
    runner: LocalRunner,
    artifacts: FolderArtifacts,
    models: ModelRoles,
    ui: Ui | None,
    jobs: SessionJobs,
    trackers: SessionTrackers | None,
    services: AsyncExitStack,
) -> CodingWorld:
    conflicts = cache(lambda: store.ConflictStore())
    return CodingWorld(
        cwd=cwd,
        fs=fs,
        run=runner,
        artifacts=artifacts,
        ui=ui,
        urls=_urls(artifacts, conflicts),
        conflicts=conflicts,
        snapshots=SeenFiles(),
        models=models,
        jobs=await services.enter_async_context(jobs),
        todos=MemoryTodos() if trackers is None else trackers.todos,
        checkpoints=None if trackers is None else trackers.checkpoints,
    )


def _urls(artifacts: FolderArtifacts, conflicts: "Callable[[], store.ConflictStore]") -> SchemeRouter:
    router = SchemeRouter()
    router.register_late("artifact", lambda: artifact_urls.ArtifactUrls())
    router.register_late("conflict", lambda: store.ConflictUrls(conflicts()))
    router.register_late("local", lambda: local_urls.LocalUrls(artifacts))
    router.register_late("tau", lambda: docs_urls.DocsUrls())
    return router


def open_artifacts(folder: Path | None, services: AsyncExitStack) -> FolderArtifacts:
    artifacts = TemporaryArtifacts() if folder is None else FolderArtifacts(folder)
    services.callback(artifacts.close)
    return artifacts


def make_jobs(
    queue: Queue, settings: Settings, artifacts: FolderArtifacts, limits: OutputLimits
) -> SessionJobs:
    """Background jobs report their end to the conversation."""
    return SessionJobs(
        lambda job: delivery.put_result(queue, job),
        retract=lambda id: delivery.take_back_result(queue, id),
        max_running=settings.async_.max_jobs,
        artifacts=artifacts,
        limits=limits,
    )


def make_recorder(
    conversation: SessionLog,
    artifacts: FolderArtifacts,
    runner: LocalRunner,
    emit: Callable[[AgentEvent], None],
) -> Recorder:
    """Saves files before the agent changes them, next to the session."""

    def folder() -> Path:
        kept = conversation.artifacts_folder
        if kept is not None:
            return kept / "history"
        scratch = artifacts.scratch(make=True)
        assert scratch is not None
        return scratch.with_name("history")

    return Recorder(folder, runner, warn=lambda text: emit(Notice("warning", text)))


def make_trackers(
    log: SessionLog,
    queue: Queue,
    settings: Settings,
    events: EventBus,
    activities: Activities,
    plan: PlanMode,
) -> SessionTrackers:
    checkpoints = SessionCheckpoints(log, queue, events.emit)
    reminders = settings.todo.reminders
    rules = TodoRules(
        reminders=reminders.enabled,
        max_reminders=reminders.max,
        clear_delay_s=settings.tasks.todo_clear_delay,
    )
    todos = Todos(
        log,
        queue,
        events.emit,
        rules,
        running=lambda: activities.running,
        quiet=lambda: plan.on or (settings.checkpoint.enabled and checkpoints.active is not None),
    )
    events.watch(todos.saw)
    if settings.checkpoint.enabled:
        events.watch(checkpoints.saw)  # after the list, which is recorded before a rewind moves the branch
    return SessionTrackers(todos, checkpoints)
