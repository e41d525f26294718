"""Gives a session its agents; their sessions are composed like any other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from tau.agent.hooks import Hooks
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.session.session import Session
from tau.coding.task.subagent import record_init
from tau.coding.task.subagent_options import SubagentOptions
from tau.coding.task.team import Team
from tau.coding.tools.registry import TOOLS
from tau.config.paths import Paths
from tau.sdk.environment import ToolEnvironment
from tau.sdk.models import SessionModels
from tau.sdk.options import SessionOptions

trust = late("tau.config.trust")

Compose = Callable[[SessionOptions, Paths, Mapping[str, str], AsyncExitStack], Awaitable[Session]]


def make_team(
    session: Session,
    compose: Compose,
    options: SessionOptions,
    outer: tuple[Paths, Mapping[str, str], AsyncExitStack, LocalRunner],
    environment: ToolEnvironment,
    models: SessionModels,
    guards: Sequence[Hooks],
) -> Team:
    """The agents of this session, which end before it; `guards` are hooks that see their calls too."""
    paths, environ, services, outside = outer
    options = replace(
        options,
        hooks=(*options.hooks, *guards),
        parent_servers=session.servers,
        parent_language_servers=session.language_servers,
    )
    team = Team(
        session,
        partial(open_agent, compose, options, paths, environ, models.resolved.model.provider),
        environment.artifacts,
        environment.jobs,
        find_model=models.find_usable,
        builtin=tuple(TOOLS),
        meter=environment.team.meter,
        outside=outside,
        fs=environment.world.fs,
        copies=workspaces_folder(environ),
        ui=options.ui,
        dialogs=options.dialogs,
        add_dirs=options.add_dirs,
    )
    services.push_async_callback(team.close)
    return team


def workspaces_folder(environ: Mapping[str, str]) -> Path:
    """Where copies of repositories are: not in tau's own folder, which agents may not write to."""
    state = environ.get("XDG_STATE_HOME") or f"{environ.get('HOME') or Path.home()}/.local/state"
    return Path(state) / "tau" / "workspaces"


@asynccontextmanager
async def open_agent(
    compose: Compose,
    options: SessionOptions,
    paths: Paths,
    environ: Mapping[str, str],
    key_owner: str,
    subagent: SubagentOptions,
) -> AsyncIterator[Session]:
    if (
        subagent.trusted
        and not options.trust
        and await asyncio.to_thread(trust.has_changed, subagent.cwd, paths)
    ):
        subagent = replace(subagent, trusted=False)
    async with AsyncExitStack() as services:
        session = await compose(agent_options(options, subagent, key_owner), paths, environ, services)
        services.push_async_callback(session.close)
        record_init(session, subagent)
        yield session


def agent_options(options: SessionOptions, subagent: SubagentOptions, key_owner: str) -> SessionOptions:
    """Those of the session that a user opened, except for what the subagent says."""
    addition = "\n\n".join(text for text in (options.append_system_prompt, subagent.system) if text)
    changed = replace(
        options.next().with_model(subagent.model, key_owner),
        cwd=subagent.cwd,
        thinking=subagent.thinking,
        tools=tuple(subagent.tools),
        add_tools=tuple(subagent.add_tools),
        append_system_prompt=addition,
        add_dirs=tuple(subagent.add_dirs),
        settings={**options.settings, **subagent.settings},
        trust=subagent.trusted,
        ui=subagent.ui,
        dialogs=subagent.dialogs,
        hooks=(*options.hooks, subagent.hooks),
        save=True,
        mcp=False,
        no_extensions=True,
        extensions=(),
        hook_files=(),
        extension_functions=(),
        mcp_files=(),
        mcp_servers={},
        agent=subagent,
    )
    return changed if subagent.wrap_runner is None else replace(changed, wrap_runner=subagent.wrap_runner)
