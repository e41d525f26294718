"""Builds a session from files, models, tools and a log."""

import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from tau.agent.events import Notice
from tau.agent.hooks import HookChain, Hooks
from tau.agent.owner import Complete, StreamFunction
from tau.agent.tool import Tool
from tau.ai.dialect import Request
from tau.ai.model import Model, ThinkingLevel, thinking_level
from tau.ai.wire import AssistantMessage
from tau.base.errors import UsageError
from tau.base.files import mode_of, temporary_folder, typed_path
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.approval.hook import ApprovalHook
from tau.coding.approval.policy import Workspace
from tau.coding.edits.modes import with_edit_mode
from tau.coding.model_resolver import ResolvedModel
from tau.coding.plan.mode import PlanHook, PlanMode
from tau.coding.prompts.system import SystemPrompt
from tau.coding.resources import open_resources
from tau.coding.session.session import Session, SessionParts
from tau.coding.session.stats import record_costs
from tau.coding.session.storage.log import SessionLog
from tau.coding.tools.registry import ToolParts, create_tools
from tau.coding.undo.recorder import Recorder
from tau.config.context_files import find_context_files
from tau.config.layers import load_settings
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.sdk.environment import make_environment
from tau.sdk.models import open_models
from tau.sdk.options import SessionOptions
from tau.sdk.storage import open_log, track_last_session

setting_values = late("tau.config.setting_values")
completion = late("tau.ai.complete")


async def compose(
    options: SessionOptions, paths: Paths, environ: Mapping[str, str], services: AsyncExitStack
) -> Session:
    loaded = load_settings(paths, options.cwd, files=options.config_files, flags=options.settings)
    settings = loaded.settings
    conversation = open_log(options, paths, settings)
    services.callback(conversation.close)
    runner = LocalRunner(shell=settings.shell_path)
    services.callback(runner.close)
    models = await open_models(options, settings, paths, environ, runner, conversation, services)
    ui, dialogs = options.ui, options.dialogs
    environment = make_environment(
        conversation, options.cwd, runner, models.roles, settings, ui=ui, dialogs=dialogs
    )
    await environment.open(services)
    events, plan, recorder = environment.events, environment.plan, environment.recorder
    resources = await open_resources(options.cwd, runner, paths, settings, environ, services)
    stream = options.stream or models.client.stream
    complete = _complete(stream)
    parts = ToolParts(
        with_edit_mode(settings, environ, models.found.model),
        record_costs(complete, conversation),
        resources=resources,
        previews=environment.pending_changes,
        can_ask=ui is not None,
    )
    tools = create_tools(options.tools, parts)
    prompt, problems = _prompt(options, paths, settings)
    problems += [*loaded.warnings, *models.warnings, *conversation.warnings, *resources.warnings]
    hooks = _hooks(options, paths, settings, environ, plan, recorder, problems)
    session = Session(
        SessionParts(
            log=conversation,
            thinking=_thinking(options, models.found, conversation, settings),
            system=prompt,
            tools=_add_custom_tools(tools, options.add_tools),
            stream=stream,
            world=environment.world,
            hooks=hooks,
            plan=plan,
            todos=environment.trackers.todos,
            recorder=recorder,
            queue=environment.queue,
            events=events,
            activities=environment.activities,
            resources=resources,
            settings=settings,
            complete=complete,
            resolve_model=models.resolve,
            notices=_notices(problems, models.found.notices),
        )
    )
    plan.changed = lambda on: None if on else session.record_changes()
    models.client.warn = lambda warning: events.emit(Notice("warning", warning))
    session.subscribe(track_last_session(session, paths))
    session.record_changes()
    return session


def _notices(warnings: Sequence[str], remarks: Sequence[str]) -> list[Notice]:
    return [Notice("warning", text) for text in warnings] + [Notice("info", text) for text in remarks]


def _complete(stream: StreamFunction) -> Complete:
    """Complete a side request."""

    def complete(model: Model, request: Request) -> Awaitable[AssistantMessage]:
        return completion.complete(stream, model, request)

    return complete


def _add_custom_tools(tools: Sequence[Tool[Any]], own: Sequence[Tool[Any]]) -> list[Tool[Any]]:
    """Add custom tools; names must be unique. Raises UsageError."""
    for tool in own:
        try:
            _ = tool.spec
        except Exception as error:
            raise UsageError(
                f"The tool {type(tool).__name__} is incomplete; it needs a name, a label, "
                f"a description and parameters: {error}"
            ) from error
    names = [tool.name for tool in (*tools, *own)]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise UsageError(f"Two tools are named {double[0]}; rename yours.")
    return [*tools, *own]


def _thinking(
    options: SessionOptions, found: ResolvedModel, conversation: SessionLog, settings: Settings
) -> ThinkingLevel:
    """In order: the flag, the model name's suffix, the session's last level, the setting."""
    kept = thinking_level(conversation.context().thinking)
    return options.thinking or found.thinking or kept or settings.default_thinking_level


def _prompt(
    options: SessionOptions, paths: Paths, settings: Settings
) -> tuple[Callable[[Model], str], list[str]]:
    warnings: list[str] = []
    wanted = settings.context_files.enabled
    prompt = SystemPrompt(
        cwd=options.cwd,
        add_dirs=options.add_dirs,
        context_files=find_context_files(options.cwd, paths, warnings.append) if wanted else (),
        replacement=_read_text_or_file(options.system_prompt),
        addition=_read_text_or_file(options.append_system_prompt),
    )
    return prompt, warnings


def _read_text_or_file(value: str | None) -> str | None:
    """Return the prompt, reading it if the value is the path of a file."""
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
    """Ask no approval for calls that another hook blocks, and do not record blocked calls.

    Errors in the user's allow rules are added to `problems`.
    """
    roots = (options.cwd, *options.add_dirs, temporary_folder(environ))
    workspace = Workspace.of(roots, protected=(paths.home,))
    approval = ApprovalHook(
        workspace,
        settings.tools.approval_mode,
        settings.tools.allow,
        remember=lambda patterns: setting_values.add_allow_rules(paths, patterns),
        dialogs=options.dialogs,
    )
    problems += approval.problems
    return HookChain((*options.hooks, PlanHook(plan), approval, recorder))
