"""Gives a session its language servers, if the folder has files that an installed one knows."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base import log
from tau.base.late import late
from tau.base.run import LocalRunner, Runner
from tau.coding.sandbox import LateSandbox
from tau.config.discovery_settings import LspSettings
from tau.config.layers import load_settings
from tau.config.paths import Paths, user_paths

if TYPE_CHECKING:
    from tau.backends.lsp.pool import LanguageServers

configs = late("tau.backends.lsp.config")
pools = late("tau.backends.lsp.pool")
trust = late("tau.config.trust")


async def open_language_servers(
    cwd: Path,
    settings: LspSettings,
    paths: Paths,
    environ: Mapping[str, str],
    runner: Runner,
    services: AsyncExitStack,
    *,
    trusted: bool,
) -> "LanguageServers | None":
    """None if none can be used here."""
    found = await asyncio.to_thread(configs.find_servers, cwd, paths, environ, trusted=trusted)
    for problem in found.problems:
        log.warning(problem)
    if not found.usable:
        return None
    servers = pools.LanguageServers(cwd, runner, paths, environ, found, trusted=trusted)
    await services.enter_async_context(servers)
    if not settings.lazy:
        servers.warm_up()
    return servers


@asynccontextmanager
async def language_servers(cwd: Path, environ: Mapping[str, str]) -> "AsyncIterator[LanguageServers]":
    """The servers of a folder without a session; each starts when it is asked."""
    paths = user_paths(environ)
    settings = load_settings(paths, cwd).settings
    trusted = (await asyncio.to_thread(trust.trust_status, cwd, paths)).trusted
    async with AsyncExitStack() as services:
        outside = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
        services.callback(outside.close)
        box = None
        if settings.sandbox.mode != "off":
            box = LateSandbox((cwd,), settings.sandbox, paths, outside)
            await services.enter_async_context(box)
        found = await asyncio.to_thread(configs.find_servers, cwd, paths, environ, trusted=trusted)
        pool = pools.LanguageServers(cwd, outside.inside(box), paths, environ, found, trusted=trusted)
        yield await services.enter_async_context(pool)
