"""The composition root and the public API: wires files, models, tools and a log into a session."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from tau.agent.events import AgentEvent, MessageEnd, Notice
from tau.agent.hooks import HookChain, Hooks
from tau.agent.output import ToolOutput
from tau.agent.owner import Complete, StreamFunction
from tau.agent.ports import FileSystem
from tau.agent.queue import Queue
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.catalog import Catalog, load_catalog, pick_model
from tau.ai.client import Client
from tau.ai.dialect import Request
from tau.ai.http import HttpTransport
from tau.ai.model import Model, ThinkingLevel, thinking_level
from tau.ai.transport import Timeouts
from tau.ai.wire import AssistantMessage, ToolCall
from tau.base import log
from tau.base.errors import TauError, ToolError, UsageError
from tau.base.files import mode_of, temporary_folder, typed_path
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.approval import ApprovalHook
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts
from tau.coding.context import CodingCall, CodingWorld, ModelRoles
from tau.coding.jobs import SessionJobs
from tau.coding.local_fs import LocalFileSystem
from tau.coding.models import FoundModel, ModelFinder, Wish
from tau.coding.output import OutputLimits
from tau.coding.outside import open_outside
from tau.coding.plan_mode import PlanHook, PlanMode, resumed_model
from tau.coding.policy import Workspace
from tau.coding.ports import SessionFactory
from tau.coding.previews import Previews
from tau.coding.prompts.system import SystemPrompt
from tau.coding.session.boards import Boards, make_boards
from tau.coding.session.log import SessionLog
from tau.coding.session.session import Session
from tau.coding.session.stats import booked
from tau.coding.session.storage import SessionLocked
from tau.coding.session.store import SessionStore
from tau.coding.session.work import SessionParts
from tau.coding.snapshots import SeenFiles
from tau.coding.todo_list import MemoryTodos
from tau.coding.tools import create_tools
from tau.coding.tools.from_settings import tool_settings_of
from tau.coding.undo.recording import Recorder
from tau.coding.urls.router import SchemeRouter
from tau.config.auth_file import AuthFile
from tau.config.context_files import find_context_files
from tau.config.credentials import KeyCredentials
from tau.config.layers import load_settings
from tau.config.models_file import load_models_file, merge
from tau.config.paths import Paths, current_folder, user_paths
from tau.config.settings import Settings

allow_file = late("tau.config.allow_file")
artifact_urls = late("tau.coding.urls.artifact")
completion = late("tau.ai.complete")
conflict_store = late("tau.coding.readers.conflict_store")
fallback = late("tau.coding.session.fallback")
terminals = late("tau.coding.history.terminals")
job_texts = late("tau.coding.job_texts")
docs_urls = late("tau.coding.urls.docs")
faux = late("tau.ai.faux")
local_urls = late("tau.coding.urls.local")
raw_events = late("tau.ai.raw_events")


class SessionOptions(Struct, frozen=True, kw_only=True):
    """What a caller may ask for; everything else comes from the user's and the project's files."""

    cwd: Path = field(default_factory=current_folder)
    provider: str | None = None
    model: str | None = None  # PATTERN[:thinking]
    thinking: ThinkingLevel | None = None
    api_key: str | None = None
    base_url: str | None = None
    system_prompt: str | None = None  # text, or the path of a file
    append_system_prompt: str | None = None
    tools: tuple[str, ...] | None = None  # None: the usual ones; (): none
    add_tools: tuple[Tool[Any], ...] = ()  # of your own, beside those
    resume: str | None = None  # id, beginning of an id, or path
    fork: str | None = None  # the same, for a copy of that session
    continue_recent: bool = False
    save: bool = True
    session_dir: Path | None = None
    config_files: tuple[Path, ...] = ()
    add_dirs: tuple[Path, ...] = ()  # folders that belong to the workspace beside cwd
    settings: dict[str, Any] = {}  # above all files; dotted keys
    ui: Ui | None = None
    stream: StreamFunction | None = None  # takes the place of a real model; see tau.ai.faux
    hooks: tuple[Hooks, ...] = ()  # asked in this order, the approval after them

    def __post_init__(self) -> None:
        """A folder that is given relative to the current one stays the same folder, wherever we go."""
        force_setattr(self, "cwd", Path(self.cwd).resolve())


@asynccontextmanager
async def create_session(
    options: SessionOptions | None = None, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Session]:
    """A session ready to be prompted; leaving the block closes it and all that it started."""
    options = options or SessionOptions()
    if not options.cwd.is_dir():
        raise UsageError(f'There is no folder "{options.cwd}".')
    paths = user_paths(environ)
    log.to(paths.logs)
    async with AsyncExitStack() as services:
        session = await _compose(options, paths, environ, services)
        services.push_async_callback(session.close)
        yield session


async def _compose(
    options: SessionOptions, paths: Paths, environ: Mapping[str, str], services: AsyncExitStack
) -> Session:
    loaded = load_settings(paths, options.cwd, files=options.config_files, flags=options.settings)
    settings = loaded.settings
    conversation = _conversation(options, paths, settings)
    services.callback(conversation.close)
    runner = LocalRunner(shell=settings.shell_path)
    services.callback(runner.close)
    models = await _models(options, settings, paths, environ, runner, conversation, services)
    artifacts = _artifacts(conversation.artifacts_folder, services)
    queue = Queue(settings.steering_mode, settings.follow_up_mode)
    tool_settings = tool_settings_of(settings, environ, models.found.model, can_ask=options.ui is not None)
    jobs = _jobs(queue, settings, artifacts, tool_settings.command_output)
    boards = make_boards(conversation, queue, settings, lambda: session)
    services.callback(boards.todos.close)
    recorder = _recorder(conversation, artifacts, runner, lambda: session)
    await services.enter_async_context(recorder)
    fs = recorder.fs(LocalFileSystem())
    world = await _world(options.cwd, fs, runner, artifacts, models.roles, options.ui, jobs, boards, services)
    previews = Previews()
    plan = PlanMode(conversation, artifacts, models.roles, previews, enabled=settings.plan.enabled)
    outside = await open_outside(options.cwd, runner, paths, settings, environ, services)
    stream = options.stream or models.client.stream
    complete = _complete(stream)
    paid = booked(complete, conversation)
    tools = create_tools(options.tools, tool_settings, paid, outside=outside, previews=previews)
    prompt, problems = _prompt(options, paths, settings)
    problems += [*loaded.warnings, *models.warnings, *conversation.warnings, *outside.warnings]
    hooks = _hooks(options, paths, settings, environ, plan, recorder, problems)
    notices = [Notice("warning", problem) for problem in problems]
    session: Session = Session(
        SessionParts(
            log=conversation,
            thinking=_thinking(options, models.found, conversation, settings),
            system=prompt,
            tools=_with_own(tools, options.add_tools),
            stream=stream,
            world=world,
            hooks=hooks,
            plan=plan,
            todos=boards.todos,
            recorder=recorder,
            watchers=(*boards.watchers, recorder.saw),
            queue=queue,
            outside=outside,
            settings=settings,
            complete=complete,
            command_output=tool_settings.command_output,
            resolve_model=models.resolve,
            notices=notices + [Notice("info", notice) for notice in models.found.notices],
        )
    )
    plan.changed = lambda on: None if on else session.note_changes()
    models.client.warn = lambda warning: session.emit(Notice("warning", warning))
    session.subscribe(_remember(session, paths))
    session.note_changes()
    return session


def _complete(stream: StreamFunction) -> Complete:
    """A whole answer to a request on the side."""

    def complete(model: Model, request: Request) -> Awaitable[AssistantMessage]:
        answer: Awaitable[AssistantMessage] = completion.complete(stream, model, request)
        return answer

    return complete


def run_sync(
    prompt: str, options: SessionOptions | None = None, environ: Mapping[str, str] = os.environ
) -> AssistantMessage:
    """The answer to one prompt, for a script that has no event loop. Raises TauError where there is none."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise TauError("An event loop runs here, so use `async with create_session()` instead of run_sync.")

    async def main() -> AssistantMessage:
        async with create_session(options, environ) as session:
            outcome = await session.prompt(prompt)
        if outcome.error is not None:
            raise outcome.error
        if outcome.message is None:
            raise TauError("There is no answer, because a hook kept the prompt back.")
        return outcome.message

    return asyncio.run(main())


class Connection(Struct, frozen=True):
    """A model, and the way to it: what an `Agent` needs."""

    model: Model
    stream: StreamFunction


@asynccontextmanager
async def connect(
    options: SessionOptions | None = None, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Connection]:
    """The model that a session with these options would use, without the session; for an `Agent`."""
    options = options or SessionOptions()
    paths = user_paths(environ)
    log.to(paths.logs)
    async with AsyncExitStack() as services:
        settings = load_settings(
            paths, options.cwd, files=options.config_files, flags=options.settings
        ).settings
        runner = LocalRunner(shell=settings.shell_path)
        services.callback(runner.close)
        nothing = SessionLog.new(None, options.cwd)
        models = await _models(options, settings, paths, environ, runner, nothing, services)
        yield Connection(models.found.model, options.stream or models.client.stream)


def _with_own(tools: Sequence[Tool[Any]], own: Sequence[Tool[Any]]) -> list[Tool[Any]]:
    """All of them, each under a name of its own: a model calls them by name. Raises UsageError."""
    for tool in own:
        try:
            _ = tool.spec
        except Exception as error:
            raise UsageError(
                f"The tool {type(tool).__name__} cannot be described to a model; it needs a name, a label, "
                f"a description and parameters: {error}"
            ) from error
    names = [tool.name for tool in (*tools, *own)]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise UsageError(f"There are two tools with the name {double[0]}; give yours another one.")
    return [*tools, *own]


def session_factory(options: SessionOptions, environ: Mapping[str, str] = os.environ) -> SessionFactory:
    """Makes sessions like the one of `options`, for work that a session hands to another one."""

    def make(
        *, cwd: Path, model: str | None, tools: Sequence[str] | None, system_prompt: str | None
    ) -> AbstractAsyncContextManager[Session]:
        wanted = replace(
            options,
            cwd=cwd,
            model=options.model if model is None else model,
            tools=options.tools if tools is None else tuple(tools),
            system_prompt=options.system_prompt if system_prompt is None else system_prompt,
            resume=None,
            fork=None,
            continue_recent=False,
        )
        return create_session(wanted, environ)

    return make


async def call_tool(
    name: str, arguments: dict[str, Any], cwd: Path, environ: Mapping[str, str] = os.environ
) -> ToolOutput:
    """What a model would get from this call. No model is asked, nothing is kept, nobody asks for approval.

    Raises UsageError for an unknown tool, ToolError where the call fails.
    """
    paths = user_paths(environ)
    log.to(paths.logs)
    async with AsyncExitStack() as services:
        settings = load_settings(paths, cwd).settings
        runner = LocalRunner(shell=settings.shell_path)
        services.callback(runner.close)
        tools = create_tools((name, "read"), tool_settings_of(settings, environ))
        artifacts = _artifacts(None, services)
        models = ModelRoles(faux.FAUX_MODEL)
        fs = LocalFileSystem()
        world = await _world(cwd, fs, runner, artifacts, models, None, SessionJobs(), None, services)
        ctx = CodingCall(world, ToolCall("call", name, arguments), lambda partial: None)
        read, tool = tools[0], tools[-1]
        params, _ = tool.decode(arguments)
        if name == "edit":  # who types an edit has seen the files that it names
            for path in tool.effects(params, cwd).reads:
                with suppress(ToolError):
                    await read.run(read.decode({"path": str(path)})[0], ctx)
        return await tool.run(params, ctx)


def _recorder(
    conversation: SessionLog, artifacts: FolderArtifacts, runner: LocalRunner, session: Callable[[], Session]
) -> Recorder:
    """Keeps what files were before the agent changed them, beside the session."""

    def folder() -> Path:
        kept = conversation.artifacts_folder
        if kept is not None:
            return kept / "history"
        scratch = artifacts.scratch(make=True)
        assert scratch is not None
        return scratch.with_name("history")

    return Recorder(folder, runner, warn=lambda text: session().emit(Notice("warning", text)))


def _jobs(queue: Queue, settings: Settings, artifacts: FolderArtifacts, limits: OutputLimits) -> SessionJobs:
    """What runs in the background tells its end to the conversation."""
    return SessionJobs(
        lambda job: job_texts.put_result(queue, job),
        retract=lambda id: job_texts.take_back_result(queue, id),
        max_running=settings.async_.max_jobs,
        artifacts=artifacts,
        limits=limits,
    )


async def _world(
    cwd: Path,
    fs: FileSystem,
    runner: LocalRunner,
    artifacts: FolderArtifacts,
    models: ModelRoles,
    ui: Ui | None,
    jobs: SessionJobs,
    boards: Boards | None,
    services: AsyncExitStack,
) -> CodingWorld:
    conflicts = cache(lambda: conflict_store.ConflictStore())
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
        todos=MemoryTodos() if boards is None else boards.todos,
        checkpoints=None if boards is None else boards.checkpoints,
    )


class _Models(Struct, frozen=True):
    """The model to begin with, those for particular work, and the way to their servers."""

    found: FoundModel
    roles: ModelRoles
    client: Client
    warnings: list[str]
    resolve: Callable[[str], Awaitable[Model | None]] | None = None  # one to fall back to


async def _models(
    options: SessionOptions,
    settings: Settings,
    paths: Paths,
    environ: Mapping[str, str],
    runner: LocalRunner,
    conversation: SessionLog,
    services: AsyncExitStack,
) -> _Models:
    timeouts = _timeouts(settings)
    http = HttpTransport(environ, timeouts)
    services.push_async_callback(http.close)
    keys: dict[str, str] = {}
    file = load_models_file(paths.models)
    catalog = merge(load_catalog(), file)
    auth = AuthFile(paths.auth)
    credentials = KeyCredentials(catalog, auth, runner, environ, flags=keys, models=file.keys)
    watched = http if options.ui is None else raw_events.watched(http)  # a person may want to look
    client = Client(watched, credentials, timeouts)
    if options.stream is not None:
        found = FoundModel(model=faux.FAUX_MODEL)
        return _Models(found, ModelRoles(found.model), client, file.warnings)
    finder = ModelFinder(
        catalog=catalog,
        credentials=credentials,
        settings=settings,
        http=http,
        run=runner,
        environ=environ,
        keys=keys,
        services=services,
    )
    wish = Wish(
        provider=options.provider,
        model=options.model,
        base_url=options.base_url,
        key=options.api_key,
        resumed=resumed_model(conversation),
    )
    found = await finder.find(wish)
    roles, problems = _roles(settings, catalog)
    warnings = [*file.warnings, *auth.warnings, *problems]
    chains = settings.retry.fallback_chains
    resolve = fallback.resolver(catalog, credentials, environ, runner) if chains else None
    return _Models(found, ModelRoles(found.model, roles), client, warnings, resolve)


def _roles(settings: Settings, catalog: Catalog) -> tuple[dict[str, Model], list[str]]:
    """The models of the setting modelRoles; one that is not known is told and left out."""
    roles: dict[str, Model] = {}
    problems: list[str] = []
    for role, pattern in settings.model_roles.items():
        try:
            roles[role] = pick_model(catalog, pattern).model
        except UsageError as error:
            problems.append(f"modelRoles.{role} is left out. {error}")
    return roles, problems


def _conversation(options: SessionOptions, paths: Paths, settings: Settings) -> SessionLog:
    """The log to write to: a new one, the latest, the one asked for, or one in memory only."""
    folder = options.session_dir or (typed_path(settings.session_dir) if settings.session_dir else None)
    store = SessionStore(folder or paths.sessions, options.cwd, flat=folder is not None, blobs=paths.blobs)
    if options.fork is not None:
        return store.fork(store.find_path(options.fork))
    if options.resume is not None:
        return _resumed(store, store.find_path(options.resume))
    if options.continue_recent:
        last = terminals.recall(paths.terminals, terminals.this_terminal(), options.cwd)
        return _resumed(store, last or store.recent_path())
    return store.new() if options.save else SessionLog.new(None, options.cwd)


def _remember(session: Session, paths: Paths) -> Callable[[AgentEvent], None]:
    """Notes, with the first message, that this terminal uses this session."""
    noted = False

    def saw(event: AgentEvent) -> None:
        nonlocal noted
        if noted or not isinstance(event, MessageEnd) or session.log.path is None:
            return
        noted = True
        terminals.remember(paths.terminals, terminals.this_terminal(), session.log.path, session.cwd)

    return saw


def _resumed(store: SessionStore, path: Path) -> SessionLog:
    """The session, or a copy of it where another window is writing it."""
    try:
        return store.open(path)
    except SessionLocked:
        log = store.fork(path)
        log.warnings.append(
            f"{path.name} is open in another tau, so this is a copy of it; what is said here stays here."
        )
        return log


def session_store(environ: Mapping[str, str] = os.environ, cwd: Path | None = None) -> SessionStore:
    """The user's sessions; without `cwd`, seen from the current folder."""
    paths = user_paths(environ)
    here = cwd or current_folder()
    folder = load_settings(paths, here).settings.session_dir
    root = typed_path(folder) if folder else paths.sessions
    return SessionStore(root, here, flat=folder is not None, blobs=paths.blobs)


def _thinking(
    options: SessionOptions, found: FoundModel, conversation: SessionLog, settings: Settings
) -> ThinkingLevel:
    """The flag, the suffix of the model's name, what the session used, the setting: in this order."""
    kept = thinking_level(conversation.context().thinking)
    return options.thinking or found.thinking or kept or settings.default_thinking_level


def _artifacts(folder: Path | None, services: AsyncExitStack) -> FolderArtifacts:
    artifacts = TemporaryArtifacts() if folder is None else FolderArtifacts(folder)
    services.callback(artifacts.close)
    return artifacts


def _urls(artifacts: FolderArtifacts, conflicts: Callable[[], Any]) -> SchemeRouter:
    router = SchemeRouter()
    router.register_late("artifact", lambda: artifact_urls.ArtifactUrls())
    router.register_late("conflict", lambda: conflict_store.ConflictUrls(conflicts()))
    router.register_late("local", lambda: local_urls.LocalUrls(artifacts))
    router.register_late("tau", lambda: docs_urls.DocsUrls())
    return router


def _timeouts(settings: Settings) -> Timeouts:
    stream = settings.stream
    return Timeouts(
        connect=stream.connect_timeout_ms / 1000,
        first_byte=stream.first_event_timeout_ms / 1000,
        idle=stream.idle_timeout_ms / 1000,
    )


def _prompt(
    options: SessionOptions, paths: Paths, settings: Settings
) -> tuple[Callable[[Model], str], list[str]]:
    warnings: list[str] = []
    wanted = settings.context_files.enabled
    prompt = SystemPrompt(
        cwd=options.cwd,
        add_dirs=options.add_dirs,
        context_files=find_context_files(options.cwd, paths, warnings.append) if wanted else (),
        replacement=_text_or_file(options.system_prompt),
        addition=_text_or_file(options.append_system_prompt),
    )
    return prompt, warnings


def _text_or_file(value: str | None) -> str | None:
    """A prompt given as text, or as the path of a file that holds it."""
    if value is None or "\n" in value or len(value) > 4096:
        return value
    path = typed_path(value)
    try:
        return path.read_text(encoding="utf-8") if stat.S_ISREG(mode_of(path)) else value
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The prompt file {path} cannot be read: {error}.") from None


def _hooks(
    options: SessionOptions,
    paths: Paths,
    settings: Settings,
    environ: Mapping[str, str],
    plan: PlanMode,
    recorder: Recorder,
    problems: list[str],
) -> Hooks:
    """A person is not asked about a call that another hook refuses; what is refused is not recorded.

    What is wrong with the patterns of the user's own is added to `problems`.
    """
    roots = (options.cwd, *options.add_dirs, temporary_folder(environ))
    workspace = Workspace.of(roots, protected=(paths.home,))
    approval = ApprovalHook(
        workspace,
        settings.tools.approval_mode,
        settings.tools.allow,
        remember=lambda patterns: allow_file.add_allowed(paths, patterns),
    )
    problems += approval.problems
    return HookChain((*options.hooks, PlanHook(plan), approval, recorder))
