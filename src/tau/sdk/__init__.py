"""The public API: sessions, model connections, single tool calls, stored sessions."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.loop_owner import StreamFunction
from tau.agent.output import ToolOutput
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage
from tau.base import log
from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.context import ModelRoles
from tau.coding.ports import SessionFactory
from tau.coding.session.session import Session
from tau.coding.session.storage.log import SessionLog
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.secret_mask import mask_known_secrets
from tau.sdk.composition import compose
from tau.sdk.models import open_models
from tau.sdk.options import SessionOptions
from tau.sdk.storage import session_store

single_call = late("tau.sdk.single_call")

__all__ = [
    "Connection",
    "SessionOptions",
    "call_tool",
    "connect",
    "create_session",
    "run_sync",
    "session_factory",
    "session_store",
]


@asynccontextmanager
async def create_session(
    options: SessionOptions | None = None, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Session]:
    """Open a session ready for prompts; leaving the block closes it and everything it started."""
    options = options or SessionOptions()
    if not options.cwd.is_dir():
        raise UsageError(f'Folder "{options.cwd}" not found.')
    paths = user_paths(environ)
    log.to(paths.logs)
    mask_known_secrets(environ, paths)
    async with AsyncExitStack() as services:
        session = await compose(options, paths, environ, services)
        services.push_async_callback(session.close)
        if session.extensions is not None:
            services.push_async_callback(session.extensions.close)
            session.extensions.start()
        yield session


def run_sync(
    prompt: str, options: SessionOptions | None = None, environ: Mapping[str, str] = os.environ
) -> AssistantMessage:
    """Answer one prompt, for scripts without an event loop. Raises TauError if there is no answer."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise TauError("An event loop is running; use `async with create_session()` instead of run_sync.")

    async def main() -> AssistantMessage:
        async with create_session(options, environ) as session:
            outcome = await session.prompt(prompt)
        if outcome.error is not None:
            raise outcome.error
        if outcome.message is None:
            raise TauError("There is no answer: a hook blocked the prompt.")
        return outcome.message

    return asyncio.run(main())


class Connection(Struct, frozen=True):
    """A model and the access to it, as an `Agent` needs."""

    model: Model
    stream: StreamFunction
    roles: ModelRoles


@asynccontextmanager
async def connect(
    options: SessionOptions | None = None, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Connection]:
    """Connect to the model these options select, without a session; for an `Agent`."""
    options = options or SessionOptions()
    paths = user_paths(environ)
    log.to(paths.logs)
    mask_known_secrets(environ, paths)
    async with AsyncExitStack() as services:
        settings = load_settings(
            paths, options.cwd, files=options.config_files, flags=options.settings
        ).settings
        runner = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
        services.callback(runner.close)
        memory_log = SessionLog.new(None, options.cwd)
        models = await open_models(options, settings, paths, environ, runner, memory_log, services)
        yield Connection(models.resolved.model, options.stream or models.client.stream, models.roles)


def session_factory(options: SessionOptions, environ: Mapping[str, str] = os.environ) -> SessionFactory:
    """Create sessions like that of `options`, for work that a session delegates."""

    def create(
        *, cwd: Path, model: str | None, tools: Sequence[str] | None, system_prompt: str | None
    ) -> AbstractAsyncContextManager[Session]:
        changed = replace(
            options,
            cwd=cwd,
            model=options.model if model is None else model,
            tools=options.tools if tools is None else tuple(tools),
            system_prompt=options.system_prompt if system_prompt is None else system_prompt,
            resume=None,
            fork=None,
            continue_recent=False,
        )
        return create_session(changed, environ)

    return create


async def call_tool(
    name: str,
    arguments: dict[str, Any],
    cwd: Path,
    environ: Mapping[str, str] = os.environ,
    *,
    approved: bool = False,
) -> ToolOutput:
    """Return what a model would get from this call, without a model or storage.

    Permissions and the sandbox are those of a session in this folder. Nobody is asked: a call that needs
    approval fails unless it is `approved`. Raises UsageError for an unknown tool, ToolError if it fails.
    """
    paths = user_paths(environ)
    log.to(paths.logs)
    mask_known_secrets(environ, paths)
    async with AsyncExitStack() as services:
        return await single_call.call_alone(name, arguments, cwd, paths, environ, services, approved=approved)
