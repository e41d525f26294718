"""Builds a session from files, models, tools and a log."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tau.agent.event_bus import EventBus
from tau.agent.events import Notice
from tau.agent.hooks import HookChain, Hooks
from tau.agent.loop_owner import Complete, StreamFunction
from tau.agent.tool import Tool
from tau.ai.assembler import complete
from tau.ai.model import Model, ThinkingLevel, thinking_level
from tau.base.errors import UsageError
from tau.base.files import is_private, mode_of, temporary_folder
from tau.base.late import late
from tau.base.run import LocalRunner, Runner, find_shell
from tau.base.tasks import shielded
from tau.coding.approval.policy import Workspace, judge_connection, may_redirect
from tau.coding.approval.session_permissions import RuleStore, SessionPermissions
from tau.coding.approval.tool_approval import ApprovalHook
from tau.coding.edits.modes import with_edit_mode
from tau.coding.files.source_files import CodeDetector
from tau.coding.files.workspace_folders import WorkspaceFolders
from tau.coding.model_resolver import ResolvedModel
from tau.coding.output import OutputCap, widest_limits
from tau.coding.prompts.system import SystemPrompt, read_text_or_file
from tau.coding.resources import SessionResources, open_resources
from tau.coding.sandbox import LateSandbox, SandboxHook
from tau.coding.session.runner import MoreTools
from tau.coding.session.session import Session, SessionParts
from tau.coding.session.stats import record_costs
from tau.coding.session.storage.log import SessionLog
from tau.coding.tools.registry import ToolParts, check_names, create_tools
from tau.config import trust_locations
from tau.config.discovery.providers import (
    CODE,
    Root,
    find_roots,
    has_any,
    has_entry_points,
    has_hook_files,
    may_name_servers,
)
from tau.config.layers import LoadedSettings, load_settings
from tau.config.paths import Paths, project_dir, project_folders
from tau.config.settings import Settings
from tau.sdk.environment import (
    LateFence,
    LateNestedContext,
    ToolEnvironment,
    add_code_intelligence,
    make_environment,
    open_team,
    register_github,
    register_memory,
)
from tau.sdk.models import SessionModels, open_models
from tau.sdk.options import SessionOptions
from tau.sdk.storage import open_log, track_last_session

if TYPE_CHECKING:
    from tau.coding.approval.rules import RuleAction
    from tau.coding.rules.stream_rules import StreamRules
    from tau.coding.supplies import PromptFiles, Supplies
    from tau.coding.task.late_team import LateTeam
    from tau.ext.extensions.host import ExtensionHost
    from tau.sdk.more_tools import MoreToolsInput

effects_approval = late("tau.agent.approved_effects")
context_warning = late("tau.coding.session.context_warning")
extension_setup = late("tau.ext.extensions.setup")
budgets = late("tau.coding.task.budgets")
faux = late("tau.ai.faux")
late_hooks = late("tau.sdk.command_hooks")
secret_placeholders = late("tau.coding.secret_placeholders")
project_rules = late("tau.config.project_rules")
list_settings = late("tau.config.list_settings")
rule_catalog = late("tau.coding.rules.catalog")
rule_urls = late("tau.coding.rules.urls")
memory_hooks = late("tau.sdk.memory")
secrets = late("tau.base.secrets")
stream_rules = late("tau.coding.rules.stream_rules")
skill_urls = late("tau.coding.skills.urls")
supplying = late("tau.coding.supplies")
trust = late("tau.config.trust")
more_tools = late("tau.sdk.more_tools")


async def compose(
    options: SessionOptions, paths: Paths, environ: Mapping[str, str], services: AsyncExitStack
) -> Session:
    settings = (loaded := _load_settings(options, paths)).settings
    conversation = await _open_conversation(options, paths, settings, services)
    runner, outside, sandbox = await open_runners(options, settings, paths, services)
    trusted, is_distrusted, problems = await _trust(options, paths)
    roots = find_roots(options.cwd, paths, options.plugin_dirs)
    supplies = _supplies(options, paths, settings, roots, trusted=trusted)
    host = await _load_extensions(options, settings, paths, supplies, roots, events := EventBus(), services)
    models = await open_models(options, settings, paths, environ, outside, conversation, services, host)
    environment = await _open_environment(options, conversation, runner, models, settings, services, events)
    folders = WorkspaceFolders(options.cwd, options.add_dirs)
    shared = (runner, paths, settings, environ, services)
    resources = await open_resources(options.cwd, *shared, outside, sandbox)
    resources, diagnostics = await add_code_intelligence(resources, options, shared, environment, trusted)
    ask = partial(complete, stream := _stream(options, settings, models, host, environment.team))
    tools = _tools(options, settings, environ, models, environment, resources, sandbox, ask, conversation)
    problems += [*loaded.warnings, *models.warnings, *conversation.warnings, *resources.warnings]
    permissions = make_permissions(options, paths, settings, environment, conversation)
    known = (options, paths, settings, environ, environment, outside, permissions, supplies, trusted)
    asked = late_hooks.LateHooks(late_hooks.HookParts(*known), services) if has_hook_files(roots) else None
    hooks = make_hooks(
        options, paths, settings, environ, environment, folders, sandbox, permissions, asked, host
    )
    fence = LateFence(folders, sandbox, environment.jobs, is_distrusted=is_distrusted)
    around = (paths, environ, environment, folders, ask, conversation, services, (outside, sandbox), models)
    more = await _open_more(options, settings, around, supplies, roots)
    rules = _stream_rules(options, settings, conversation, environment, roots, supplies)
    files = await _prompt_files(settings, roots, supplies, models.resolved.model, problems, host)
    nested = LateNestedContext(supplies, folders, conversation, environment.queue, settings)
    session = Session(
        SessionParts(
            log=conversation,
            thinking=_thinking_level(options, models.resolved, conversation, settings),
            system=_system_prompt(options, folders, files),
            title_prompt="" if files is None else files.title,
            supplies=supplies,
            tools=tools,
            stream=stream,
            world=replace(environment.world, denied=permissions.denied_files),
            hooks=_chain(asked, hooks, diagnostics, *resources.hooks, fence, nested, *more.hooks, rules),
            more=more,
            command_hooks=asked,
            rules=rules,
            permissions=permissions,
            folders=folders,
            **environment.session_parts(),
            resources=resources,
            settings=settings,
            trusted=trusted,
            complete=ask,
            resolve_model=models.resolve,
            notices=_notices([*problems, *permissions.problems], models.resolved),
            extensions=host,
        )
    )
    outer = (paths, environ, services, outside)
    await open_team(compose, session, environment, models, options, roots, outer, host)
    return _connect(session, environment, models, paths, host, ask)


def _supplies(
    options: SessionOptions, paths: Paths, settings: Settings, roots: Sequence[Root], *, trusted: bool
) -> "Callable[[], Supplies]":
    agent = "main" if options.agent is None else options.agent.kind

    def has_changed() -> bool:
        return not options.trust and trust.has_changed(options.cwd, paths)

    return cache(
        lambda: supplying.Supplies(
            options.cwd,
            paths,
            settings,
            trusted=trusted,
            has_changed=has_changed,
            roots=roots,
            agent=agent,
            plugin_dirs=options.plugin_dirs,
        )
    )


def _tools(
    options: SessionOptions,
    settings: Settings,
    environ: Mapping[str, str],
    models: SessionModels,
    environment: ToolEnvironment,
    resources: SessionResources,
    sandbox: LateSandbox | None,
    ask: Complete,
    conversation: SessionLog,
) -> list[Tool[Any]]:
    register_github(environment, resources.github)
    register_memory(environment, resources.memory)
    if resources.memory is not None and options.agent is None:
        around = (environment, ask, conversation, models.roles)
        resources.hooks.append(memory_hooks.open_automatic(resources.memory, settings, *around))
    parts = ToolParts(
        with_edit_mode(settings, environ, models.resolved.model),
        record_costs(ask, conversation),
        resources=resources if options.wrap_runner is None or sandbox else replace(resources, shell=None),
        previews=environment.pending_changes,
        can_ask=options.ui is not None,
        code=_code_detector(options),
        urls=environment.world.urls,
        web=models.web,
        team=environment.team,
        agent=environment.team.agent,
    )
    return _add_custom_tools(create_tools(options.tools, parts, others=True), options.add_tools)


async def _open_more(
    options: SessionOptions,
    settings: Settings,
    around: "MoreToolsInput",
    supplies: "Callable[[], Supplies]",
    roots: Sequence[Root],
) -> MoreTools:
    """Nothing, and no import, if no file can name a server and no tool can be hidden."""
    is_found = options.mcp and settings.mcp.enabled and may_name_servers(roots)
    named = is_found or options.mcp_files or options.mcp_servers
    if options.parent_servers is not None and settings.mcp.enabled:
        return more_tools.shared_tools(options.parent_servers, settings, around[5], options.tools)
    if not named and settings.tools.discovery_mode != "all":
        return MoreTools()
    found = (lambda: supplies().discovery) if is_found else None
    return await more_tools.open_more_tools(options, settings, *around, discover=found)


def _connect(
    session: Session,
    environment: ToolEnvironment,
    models: SessionModels,
    paths: Paths,
    host: "ExtensionHost | None",
    ask: Complete,
) -> Session:
    """Let the parts know their session."""
    register_supplies(environment, session.supplies)
    if host is not None:
        host.bind(session, environment.world, ask, models.find)
    models.client.warn = lambda warning: session.emit(Notice("warning", warning))
    models.client.warn_of_context = lambda warning: context_warning.show_once(
        session.log, session.emit, warning
    )
    models.web.may_connect = lambda name: may_redirect(session.permissions.current, name)
    models.web.judge = lambda name: judge_connection(session.permissions.current, name)
    environment.plan.changed = partial(_plan_changed, session)
    if not environment.team.agent:
        track_last_session(session, paths)
    session.record_changes()
    return session


async def _open_environment(
    options: SessionOptions,
    conversation: SessionLog,
    runner: Runner,
    models: SessionModels,
    settings: Settings,
    services: AsyncExitStack,
    events: EventBus,
) -> ToolEnvironment:
    made = make_environment(
        *(conversation, options.cwd, runner, models.roles, settings),
        ui=options.ui,
        dialogs=options.dialogs,
        disk=options.disk,
        events=events,
        subagent=options.agent,
    )
    await made.open(services)
    return made


async def _open_conversation(
    options: SessionOptions, paths: Paths, settings: Settings, services: AsyncExitStack
) -> SessionLog:
    """A stored session may be large: it is read in a thread, and so is what the model will see of it."""

    def load() -> SessionLog:
        log = open_log(options, paths, settings)
        services.callback(log.close)
        log.context()
        return log

    is_stored = options.resume or options.fork or options.continue_recent
    return await shielded(asyncio.to_thread(load)) if is_stored else load()


def _stream(
    options: SessionOptions,
    settings: Settings,
    models: SessionModels,
    host: "ExtensionHost | None",
    team: "LateTeam",
) -> StreamFunction:
    stream = options.stream or models.client.stream
    if options.agent is not None:
        stream = options.agent.gate(stream)
    elif options.budget is not None or settings.task.max_total_cost:
        limits = budgets.session_budget(options.budget, settings.task.max_total_cost)
        team.meter, stream = budgets.limit_session(stream, limits)
    if host is not None:
        stream = host.wrap_stream(stream)
    if settings.secrets.obfuscate:
        stream = secret_placeholders.obfuscated(stream, secrets.known_secrets())
    return stream


def _notices(problems: Sequence[str], resolved: ResolvedModel) -> list[Notice]:
    return [
        *(Notice("warning", text) for text in problems),
        *(Notice("info", text) for text in resolved.notices),
    ]


async def open_runners(
    options: SessionOptions, settings: Settings, paths: Paths, services: AsyncExitStack
) -> tuple[Runner, LocalRunner, LateSandbox | None]:
    """The runner for what a model or a repository wrote, the one for tau's own programs, and the sandbox."""
    outside = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
    services.callback(outside.close)
    sandbox = None
    if settings.sandbox.mode != "off":
        sandbox = LateSandbox((options.cwd, *options.add_dirs), settings.sandbox, paths, outside, options.ui)
        await services.enter_async_context(sandbox)
    runner = outside.inside(sandbox)
    return runner if options.wrap_runner is None else options.wrap_runner(runner), outside, sandbox


def _code_detector(options: SessionOptions) -> CodeDetector | None:
    """Tools that the user names are offered everywhere."""
    return CodeDetector((options.cwd, *options.add_dirs)) if options.tools is None else None


def _add_custom_tools(tools: Sequence[Tool[Any]], custom: Sequence[Tool[Any]]) -> list[Tool[Any]]:
    """Add custom tools; names must be unique. Raises UsageError."""
    for tool in custom:
        try:
            _ = tool.spec
        except Exception as error:
            raise UsageError(
                f"The tool {type(tool).__name__} is incomplete; it needs a name, a label, "
                f"a description and parameters: {error}"
            ) from error
    names = [tool.name for tool in (*tools, *custom)]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise UsageError(f"Two tools are named {duplicates[0]}; rename yours.")
    return [*tools, *custom]


def _thinking_level(
    options: SessionOptions, resolved: ResolvedModel, conversation: SessionLog, settings: Settings
) -> ThinkingLevel:
    """In order: the flag, the model name's suffix, the session's last level, the setting."""
    logged = thinking_level(conversation.context().thinking)
    return options.thinking or resolved.thinking or logged or settings.default_thinking_level


async def _trust(options: SessionOptions, paths: Paths) -> tuple[bool, bool, list[str]]:
    """Whether what the repository supplies may run, whether it may not though there is something, notices."""
    has_any = trust_locations.has_any(list(project_folders(options.cwd)))
    if not has_any and (options.trust or not mode_of(paths.home / "trust.json")):
        return options.trust, False, []
    status = await asyncio.to_thread(trust.trust_status, options.cwd, paths)
    if status.trusted or (options.trust and not status.problems):
        return True, False, []
    is_distrusted = bool(status.items or status.problems)
    is_settled = options.ui is not None and status.refused and not status.problems
    return False, is_distrusted, [] if is_settled else trust.notices(status)


def _load_settings(options: SessionOptions, paths: Paths) -> LoadedSettings:
    """Remember how strict the project's settings are."""
    loaded = load_settings(paths, options.cwd, files=options.config_files, flags=options.settings)
    if loaded.project or mode_of(paths.project_rules):
        project_rules.remember_rules(options.cwd, paths, loaded)
    return loaded


def register_supplies(environment: ToolEnvironment, supplies: "Callable[[], Supplies]") -> None:
    """Let URLs name what files supply, which is scanned when first needed."""
    environment.world.urls.register_late("skill", lambda: skill_urls.SkillUrls(supplies().skills))
    environment.world.urls.register_late("rule", lambda: rule_urls.RuleUrls(supplies().rules))


async def _load_extensions(
    options: SessionOptions,
    settings: Settings,
    paths: Paths,
    supplies: "Callable[[], Supplies]",
    roots: Sequence[Root],
    events: EventBus,
    services: AsyncExitStack,
) -> "ExtensionHost | None":
    """The host of the extensions; None if there are none, which costs no import."""
    given = options.extensions or options.hook_files or options.extension_functions
    own = [root for root in roots if root.provider.id in ("native", "tau-plugins")]
    has_plugins = any(root.plugin for root in own)
    found = settings.extensions or has_plugins or has_any(own, CODE) or has_entry_points(paths.home)
    if not given and (options.no_extensions or not found):
        check_names(options.tools or (), servers=True)
        return None
    return await extension_setup.load_extensions(options, settings, paths, supplies, events.emit, services)


async def _prompt_files(
    settings: Settings,
    roots: Sequence[Root],
    supplies: "Callable[[], Supplies]",
    model: Model,
    problems: list[str],
    host: "ExtensionHost | None",
) -> "PromptFiles | None":
    """What files supply to the prompt; they are read in a thread. None if there are none."""
    if not has_any(roots) and not settings.skills.custom_directories and host is None:
        return None
    return await asyncio.to_thread(lambda: supplies().read_prompts(model, problems.append))


def _chain(*hooks: Hooks | None) -> HookChain:
    return HookChain([one for one in hooks if one is not None])


def _system_prompt(
    options: SessionOptions, folders: WorkspaceFolders, files: "PromptFiles | None"
) -> Callable[[Model], str]:
    """A flag comes before the user's SYSTEM.md; both additions count."""
    replacement = read_text_or_file(options.system_prompt)
    addition = read_text_or_file(options.append_system_prompt)
    if files is None:
        return SystemPrompt(
            cwd=options.cwd, add_dirs=lambda: folders.added, replacement=replacement, addition=addition
        )
    return SystemPrompt(
        cwd=options.cwd,
        add_dirs=lambda: folders.added,
        context_files=files.context,
        skills=files.skills,
        replacement=files.replacement if replacement is None else replacement,
        addition="\n\n".join(text for text in (files.addition, addition) if text) or None,
    )


class _StoredRules(RuleStore):
    """The rules in the user's settings file."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def add(self, action: "RuleAction", patterns: Sequence[str]) -> None:
        list_settings.add_rules(self._paths, action, patterns)

    def remove(self, action: "RuleAction", pattern: str) -> bool:
        return list_settings.remove_rule(self._paths, action, pattern)


def make_permissions(
    options: SessionOptions,
    paths: Paths,
    settings: Settings,
    environment: ToolEnvironment,
    conversation: SessionLog,
) -> SessionPermissions:
    if options.agent is not None:
        return options.agent.permissions(environment.plan, conversation, environment.events.emit)
    project = project_dir(options.cwd, paths)
    return SessionPermissions(
        settings.tools,
        environment.plan,
        conversation,
        environment.events.emit,
        root=options.cwd if project is None else project.parent,
        store=_StoredRules(paths),
        sandbox_off=settings.sandbox.mode == "off",
    )


def _stream_rules(
    options: SessionOptions,
    settings: Settings,
    conversation: SessionLog,
    environment: ToolEnvironment,
    roots: Sequence[Root],
    supplies: "Callable[[], Supplies]",
) -> "StreamRules | None":
    found = has_any(roots, ("rules", "instructions"))
    if not (settings.rules.enabled and settings.ttsr.enabled) or not (
        options.rules or found or settings.ttsr.builtin_rules
    ):
        return None
    rules = stream_rules.StreamRules(
        (*options.rules, *(supplies().rules.of("stream") if found else ())),
        lambda: rule_catalog.bundled_rules(),
        settings.ttsr,
        conversation,
        environment.queue,
        environment.events.emit,
    )
    environment.events.watch(rules.observe)
    return rules


def _plan_changed(session: Session, on: bool) -> None:
    if not on:
        session.record_changes()
    session.permissions.announce()


def make_hooks(
    options: SessionOptions,
    paths: Paths,
    settings: Settings,
    environ: Mapping[str, str],
    environment: ToolEnvironment,
    folders: WorkspaceFolders,
    sandbox: LateSandbox | None,
    permissions: SessionPermissions,
    asked_first: Hooks | None = None,
    host: "ExtensionHost | None" = None,
    *,
    records: bool = True,
) -> Hooks:
    """Ask no approval for calls that another hook blocks, record no blocked calls, cap the output last."""
    temporary = temporary_folder(environ)
    # In a temporary folder that is open to all, another user can leave links and watch names.
    private = (temporary,) if is_private(temporary) else ()

    def workspace() -> Workspace:
        return Workspace.of(
            (*folders.all, *private),
            protected=(paths.home,),
            temporary=(temporary,),
            shell=Path(settings.shell_path or find_shell()).name,
        )

    approval = ApprovalHook(
        workspace(),
        permissions,
        dialogs=options.dialogs,
        contained=lambda commands: sandbox is not None and sandbox.contains(commands),
        shares_temporary=lambda: sandbox is not None and sandbox.shares_temporary,
        before=asked_first,
    )

    def use_folders(_: Sequence[Path]) -> None:
        approval.workspace = workspace()
        permissions.recheck()

    folders.on_change(use_folders)
    cap = OutputCap(environment.artifacts, widest_limits(settings.tools))
    contain: list[Hooks] = []
    if sandbox is not None:
        sandbox.warn = lambda text: environment.events.emit(Notice("warning", text))
        environment.events.watch(sandbox.on_event)
        sandbox.denied = permissions.denied_files
        sandbox.judge_host = lambda host: judge_connection(permissions.current, host)
        folders.on_change(sandbox.change_roots)
        contain.append(SandboxHook(sandbox))
    record = (environment.recorder,) if records else ()
    own = () if host is None else (host.hooks,)
    return HookChain((*options.hooks, *own, *contain, approval, *record, cap))
