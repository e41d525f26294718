"""One tool call outside a session."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tau.agent.approved_effects import ApprovedEffects
from tau.agent.hooks import Refusal, ToolQuestion
from tau.agent.output import ToolOutput
from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import ToolCall
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.context import CodingCall, ModelRoles
from tau.coding.edits.modes import with_edit_mode
from tau.coding.files.workspace_folders import WorkspaceFolders
from tau.coding.resources import SessionResources
from tau.coding.session.storage.log import SessionLog
from tau.coding.supplies import Supplies
from tau.coding.tools.registry import ToolParts, create_tools
from tau.config.layers import load_settings
from tau.config.paths import Paths
from tau.sdk.composition import make_hooks, make_permissions, open_runners, register_supplies
from tau.sdk.environment import make_environment, register_github
from tau.sdk.models import web_access
from tau.sdk.options import SessionOptions

github_access = late("tau.coding.github.access")


async def call_alone(
    name: str,
    arguments: dict[str, Any],
    cwd: Path,
    paths: Paths,
    environ: Mapping[str, str],
    services: AsyncExitStack,
    *,
    approved: bool,
) -> ToolOutput:
    """One call as in a session of this folder. Raises UsageError or ToolError."""
    options = SessionOptions(cwd=cwd, tools=(name,))
    settings = with_edit_mode(load_settings(paths, cwd).settings, environ)
    if approved:
        settings = replace(settings, tools=replace(settings.tools, approval_mode="yolo"))
    runner, outside, sandbox = await open_runners(options, settings, paths, services)
    conversation = SessionLog.new(None, cwd)
    environment = make_environment(conversation, cwd, runner, ModelRoles(FAUX_MODEL), settings)
    await environment.open(services)
    github = None
    if settings.github.enabled or approved:  # the user typed it
        github = github_access.GithubAccess(outside, cwd, paths, settings.github)
        services.push_async_callback(github.background.close, 5.0)
    register_github(environment, github)
    register_supplies(environment, cache(lambda: Supplies(cwd, paths, settings)))
    permissions = make_permissions(options, paths, settings, environment, conversation)
    folders = WorkspaceFolders(cwd, ())
    known = (options, paths, settings, environ, environment, folders, sandbox, permissions)
    hooks = make_hooks(*known, records=False)
    web = web_access(paths, environ, outside, may_connect=lambda name: approved)
    [tool] = create_tools(
        (name,),
        ToolParts(settings, urls=environment.world.urls, web=web, resources=SessionResources(github=github)),
    )
    # There is nothing to rewind.
    world = replace(environment.world, checkpoints=None, denied=permissions.denied_files)
    context = CodingCall(world, call := ToolCall("call", name, arguments), lambda partial: None)
    effects = tool.effects(params := tool.decode(arguments)[0], cwd)
    refusal = await hooks.before_tool(ToolQuestion(call, tool, effects, context, FAUX_MODEL))
    if refusal is not None:
        raise ToolError(refusal.text if isinstance(refusal, Refusal) else refusal)
    output = await tool.run(params, context.bound(ApprovedEffects(effects)))
    return await hooks.after_tool(call, output)
