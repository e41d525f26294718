"""What a session's tools work with: files, processes, artifacts, jobs, internal URLs."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

from msgspec import Struct

from tau.agent.event_bus import EventBus
from tau.agent.events import Notice
from tau.agent.ports import FileSystem
from tau.agent.queue import Queue
from tau.agent.ui import Ui
from tau.base.late import late
from tau.base.run import Runner
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts
from tau.coding.context import CodingWorld, ModelRoles
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.files.seen_files import SeenFiles
from tau.coding.internal_urls.router import SchemeRouter
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.output import command_limits
from tau.coding.pending_changes import PendingChanges
from tau.coding.plan.mode import PlanMode
from tau.coding.ports import CodingDialogs
from tau.coding.session.activities import Activities
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import Later, call_later
from tau.coding.session.trackers import SessionTrackers, make_trackers
from tau.coding.undo.recorder import Recorder
from tau.config.settings import Settings

artifact_urls = late("tau.coding.internal_urls.artifact")
store = late("tau.coding.conflicts.store")
docs_urls = late("tau.coding.internal_urls.docs")
delivery = late("tau.coding.jobs.delivery")
local_urls = late("tau.coding.internal_urls.local")


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
    trackers: SessionTrackers
    jobs: SessionJobs
    queue: Queue
    recorder: Recorder

    async def open(self, services: AsyncExitStack) -> None:
        """Start the background parts; they end with `services`."""
        services.callback(self.close)
        await services.enter_async_context(self.recorder)
        await services.enter_async_context(self.jobs)

    def close(self) -> None:
        """Release files and timers; call it after the parts that `open` started have ended."""
        self.trackers.todos.close()
        self.recorder.close()
        self.artifacts.close()


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
) -> ToolEnvironment:
    """Wire the ports of tools: the one way for a session, for a single call and for a test.

    `log` is the conversation the tools belong to. `disk` replaces the file system, `later` the timer.
    """
    queue = Queue(settings.steering_mode, settings.follow_up_mode)
    events, activities, pending_changes = EventBus(), Activities(), PendingChanges()
    folder = log.artifacts_folder
    artifacts = TemporaryArtifacts() if folder is None else FolderArtifacts(folder)
    plan = PlanMode(log, artifacts, models, pending_changes, enabled=settings.plan.enabled)
    trackers = make_trackers(log, queue, settings, events, activities, plan, later=later)
    recorder = Recorder(
        lambda: _history_folder(log, artifacts),
        runner,
        warn=lambda text: events.emit(Notice("warning", text)),
    )
    events.watch(recorder.saw)
    jobs = _jobs(queue, settings, artifacts)
    conflicts = cache(lambda: store.ConflictStore())
    world = CodingWorld(
        cwd=cwd,
        fs=recorder.fs(disk or LocalFileSystem()),
        run=runner,
        artifacts=artifacts,
        ui=ui,
        dialogs=dialogs,
        urls=_urls(artifacts, conflicts),
        conflicts=conflicts,
        snapshots=SeenFiles(),
        models=models,
        jobs=jobs,
        todos=trackers.todos,
        checkpoints=trackers.checkpoints,
    )
    return ToolEnvironment(
        world=world,
        artifacts=artifacts,
        events=events,
        activities=activities,
        pending_changes=pending_changes,
        plan=plan,
        trackers=trackers,
        jobs=jobs,
        queue=queue,
        recorder=recorder,
    )


def _urls(artifacts: FolderArtifacts, conflicts: "Callable[[], store.ConflictStore]") -> SchemeRouter:
    router = SchemeRouter()
    router.register_late("artifact", lambda: artifact_urls.ArtifactUrls())
    router.register_late("conflict", lambda: store.ConflictUrls(conflicts()))
    router.register_late("local", lambda: local_urls.LocalUrls(artifacts))
    router.register_late("tau", lambda: docs_urls.DocsUrls())
    return router


def _jobs(queue: Queue, settings: Settings, artifacts: FolderArtifacts) -> SessionJobs:
    """Background jobs report their end to the conversation."""
    return SessionJobs(
        lambda job: delivery.put_result(queue, job),
        retract=lambda id: delivery.take_back_result(queue, id),
        max_running=settings.async_.max_jobs,
        artifacts=artifacts,
        limits=command_limits(settings.tools),
    )


def _history_folder(log: SessionLog, artifacts: FolderArtifacts) -> Path:
    """The folder for files as they were before the agent changed them, next to the session."""
    kept = log.artifacts_folder
    if kept is not None:
        return kept / "history"
    scratch = artifacts.scratch(make=True)
    assert scratch is not None
    return scratch.with_name("history")
