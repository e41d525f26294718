"""Gives a session its MCP servers; their code loads when a file, a flag or a program names some."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tau.agent.events import ServerState
from tau.agent.hooks import Hooks
from tau.agent.tool import Tool
from tau.ai.wire import UserMessage
from tau.base import log
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.base.tasks import spawn
from tau.coding.ports import ServerStatus, UrlRouter
from tau.coding.sandbox import LateSandbox
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.secret_mask import mask_known_secrets

if TYPE_CHECKING:
    from tau.config.discovery.registry import CapabilityRegistry
    from tau.ext.mcp.servers import McpParts, McpServers

config_files = late("tau.ext.mcp.config_files")
hosts = late("tau.ext.mcp.servers")
reports = late("tau.ext.mcp.report")
prompts = late("tau.ext.mcp.prompts")
resources = late("tau.ext.mcp.resources")
supplies = late("tau.coding.supplies")
trust = late("tau.config.trust")


class LateServers(Hooks):
    """Implements `ServerPort`. Use as `async with`; files are read and servers start in the background."""

    def __init__(
        self,
        parts: "Callable[[], McpParts]",
        cwd: Path,
        discovery: "Callable[[], CapabilityRegistry] | None",
        urls: UrlRouter,
        *,
        files: Sequence[Path] = (),
        given: Iterable[tuple[str, Mapping[str, Any], str]] = (),
    ) -> None:
        self._parts, self._cwd, self._discovery, self._urls = parts, cwd, discovery, urls
        self._files, self._given = tuple(files), tuple(given)
        self._group = asyncio.TaskGroup()
        self._loading: asyncio.Task[None] | None = None
        self._error: TauError | None = None
        self._began = 0.0
        self.servers: McpServers | None = None
        self.changed: Callable[[], None] = lambda: None

    async def __aenter__(self) -> "LateServers":
        self._began = asyncio.get_running_loop().time()
        await self._group.__aenter__()
        self._loading = spawn(self._group, self._load())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._loading is not None
        self._loading.cancel()
        await asyncio.wait((self._loading,))
        if self.servers is not None:
            await self.servers.close()
        await self._group.__aexit__(None, None, None)

    async def _load(self) -> None:
        await asyncio.sleep(0)
        try:
            listing = await asyncio.to_thread(
                lambda: config_files.find_servers(
                    self._discovery and self._discovery(), self._cwd, files=self._files, given=self._given
                )
            )
            if listing.entries or listing.errors:
                self.servers = hosts.McpServers(self._parts(), self._group)
                self.servers.parts.changed = lambda: self.changed()
                self._urls.register(resources.ResourceUrls(self.servers))
                self.servers.start(listing)
        except TauError as error:
            self._error = error
        except Exception as error:
            log.error("The MCP servers could not be loaded.", error)
            self._error = TauError(f"The MCP servers could not be loaded: {error!r}.")

    def tools(self) -> list[Tool[Any]]:
        return [] if self.servers is None else self.servers.tools()

    async def loaded(self) -> "McpServers | None":
        """Wait until files are read. Raises TauError."""
        assert self._loading is not None
        await asyncio.wait((self._loading,))
        if self._error is not None:
            raise self._error
        return self.servers

    async def wait_first(self) -> None:
        if (servers := await self.loaded()) is not None:
            await servers.wait_first(self._began)

    def states(self) -> list[ServerState]:
        return [ServerState(row.name, row.state, row.why, row.tools) for row in self.status()]

    def instructions(self) -> str:
        return "" if self.servers is None else self.servers.instructions

    async def input(self, message: UserMessage) -> UserMessage | None:
        """As a hook: expand a message that names a prompt of a server."""
        if (servers := await self.loaded()) is None:
            return message
        return await prompts.expand_prompt(message, servers.connections)

    def prompt_names(self) -> list[tuple[str, str]]:
        found = () if self.servers is None else self.servers.connections.values()
        return [
            (f"{one.name}:{prompt.get('name')}", str(prompt.get("description") or ""))
            for one in found
            for prompt in one.prompts
        ]

    def resource_names(self) -> list[tuple[str, str]]:
        found = () if self.servers is None else self.servers.connections.values()
        return [row for one in found for row in one.resources.names]

    async def wait_settled(self) -> None:
        if (servers := await self.loaded()) is not None:
            for connection in servers.connections.values():
                await connection.settled()

    def status(self) -> list[ServerStatus]:
        return [] if self.servers is None else reports.statuses(self.servers)

    async def open(self) -> "McpServers":
        if (await self.loaded()) is None:
            self.servers = hosts.McpServers(self._parts(), self._group)
            self._urls.register(resources.ResourceUrls(self.servers))
        assert self.servers is not None
        return self.servers


@asynccontextmanager
async def open_servers(
    cwd: Path,
    environ: Mapping[str, str],
    *,
    start: Sequence[str] | None = None,
    tell: Callable[[str], None] = log.warning,
) -> "AsyncIterator[McpServers | None]":
    """The servers of a folder without a session; those named in `start` connect, or all. None if off."""
    paths = user_paths(environ)
    log.to(paths.logs)
    mask_known_secrets(environ, paths)
    settings = load_settings(paths, cwd).settings
    if not settings.mcp.enabled:
        yield None
        return
    status = await asyncio.to_thread(trust.trust_status, cwd, paths)
    discovery = supplies.Supplies(cwd, paths, settings, trusted=status.trusted).discovery
    listing = await asyncio.to_thread(config_files.find_servers, discovery, cwd)
    outside = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
    async with AsyncExitStack() as services:
        services.callback(outside.close)
        box = None
        if settings.sandbox.mode != "off":
            box = LateSandbox((cwd,), settings.sandbox, paths, outside)
            await services.enter_async_context(box)
        parts = hosts.McpParts(
            cwd=cwd,
            paths=paths,
            environ=environ,
            contained=outside.inside(box),
            outside=outside,
            warn=log.warning,
            is_live=False,
            tell=tell,
        )
        group = await services.enter_async_context(asyncio.TaskGroup())
        servers = hosts.McpServers(parts, group)
        services.push_async_callback(servers.close)
        chosen = [entry for entry in listing.entries if start is None or entry.name in start]
        servers.start(replace(listing, entries=tuple(chosen)))
        servers.listing = listing
        yield servers
