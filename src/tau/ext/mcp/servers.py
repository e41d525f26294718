"""All MCP servers of a session: starts them, waits briefly, supplies their tools."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from tau.agent.tool import Tool
from tau.ai.http import HttpTransport
from tau.base.late import late
from tau.base.run import OUTSIDE, LocalRunner
from tau.coding.ports import CodingContext
from tau.config.paths import Paths
from tau.ext.mcp.client import McpClient, McpTransport, Progress
from tau.ext.mcp.config import McpServer, ServerEntry, resolve
from tau.ext.mcp.config_files import ServerList
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import McpError, ToolDefinition
from tau.ext.mcp.stdio import StderrLog, open_stdio
from tau.ext.mcp.tool_catalog import ToolCatalog

http_transport = late("tau.ext.mcp.http")

T = TypeVar("T")
FIRST_WAIT_S = 0.25


class McpParts(Struct, kw_only=True):
    """What servers need of the session. Those of the user that ask for it run `outside` the sandbox."""

    cwd: Path
    paths: Paths
    environ: Mapping[str, str]
    contained: LocalRunner
    outside: LocalRunner
    warn: Callable[[str], None]
    is_headless: bool = True
    is_live: bool = True  # part of a session, which uses what is added
    changed: Callable[[], None] = lambda: None


class McpServers:
    """Use as `async with`. Implements `ConnectionHost` and `ToolSource`."""

    def __init__(self, parts: McpParts, group: asyncio.TaskGroup) -> None:
        self.parts = parts
        self.listing = ServerList()
        self.connections: dict[str, ServerConnection] = {}
        self.http = HttpTransport(parts.environ)
        self._group = group
        self.catalog = ToolCatalog(parts.paths, parts.warn, self.call)
        self._waited = False

    def start(self, listing: ServerList) -> None:
        """Begin to connect to the active servers."""
        self.listing = listing
        for place, problem in listing.errors:
            self.parts.warn(f"{place}: {problem}")
        for entry in listing.entries:
            if entry.state == "active" and entry.name not in self.connections:
                self.begin(entry)

    def begin(self, entry: ServerEntry) -> ServerConnection:
        connection = self.connections[entry.name] = ServerConnection(entry, self, self._group)
        connection.start()
        return connection

    async def close(self) -> None:
        """End all connections at the same time."""
        await asyncio.gather(*(connection.stop() for connection in self.connections.values()))
        await self.http.close()

    async def drop(self, name: str) -> None:
        connection = self.connections.pop(name, None)
        self.catalog.drop(name)
        if connection is not None:
            await connection.stop()

    async def wait_first(self) -> None:
        """Before the first request: wait a moment, then use cached definitions. Raises McpError."""
        if self._waited:
            return
        self._waited = True
        await self._wait([each for each in self.connections.values() if not each.info], FIRST_WAIT_S)
        for connection in self.connections.values():
            if connection.client is None and connection.state != "failed":
                await self._use_cache(connection)
        required = [each for each in self.connections.values() if each.entry.server.required]
        for connection in required:
            if connection.client is None:
                limit_s = connection.entry.server.startup_timeout / 1000
                await self._wait([connection], limit_s)
            if connection.client is None:
                reason = connection.reason or f"no answer within {limit_s:g} s"
                message = f"The required MCP server {connection.name} cannot be used: {reason}"
                if self.parts.is_headless:
                    raise McpError(message)
                self.parts.warn(message)

    async def _wait(self, connections: Sequence[ServerConnection], seconds: float) -> None:
        if not connections:
            return
        try:
            async with asyncio.timeout(seconds):
                for connection in connections:
                    await connection.settled()
        except TimeoutError:
            pass

    async def _use_cache(self, connection: ServerConnection) -> None:
        found = await asyncio.to_thread(self.catalog.cache.read, connection.entry.digest)
        if found is not None and connection.client is None:
            connection.tools, connection.from_cache = found.tools, True
            self.listed(connection)

    def tools(self) -> list[Tool[Any]]:
        """In the order of the configuration; a server that is gone keeps its tools."""
        return [tool for name in self.connections for tool in self.catalog.of(name)]

    def listed(self, connection: ServerConnection) -> None:
        """Part of `ConnectionHost`: the tools of a server are known."""
        self.catalog.update(connection, list(self.connections))

    async def call(
        self,
        connection: ServerConnection,
        tool: ToolDefinition,
        arguments: dict[str, Any],
        progress: Progress,
        ctx: CodingContext,
    ) -> dict[str, Any]:
        """Raises JsonRpcError and McpError."""

        async def work(client: McpClient) -> dict[str, Any]:
            params = {"name": tool.name, "arguments": arguments}
            return await client.request("tools/call", params, progress=progress)

        return await connection.use(work)

    async def resolve(self, entry: ServerEntry) -> McpServer:
        return await resolve(entry, self.parts.environ, self.parts.cwd, self.parts.outside)

    def open(
        self, entry: ServerEntry, server: McpServer, client: McpClient, group: asyncio.TaskGroup
    ) -> AbstractAsyncContextManager[McpTransport]:
        if server.type != "stdio":
            return http_transport.open_http(entry, server, client, self.http, group)
        runner, sandbox = self.parts.contained, None
        if not server.sandbox:
            runner, sandbox = self.parts.outside, OUTSIDE
        return open_stdio(
            [server.command, *server.args],
            Path(server.cwd),
            server.env,
            client.peer,
            runner,
            group,
            StderrLog(log_file(self.parts.paths, entry.name)),
            sandbox=sandbox,
            inherit_env=server.inherit_env,
        )

    def capabilities(self, entry: ServerEntry) -> dict[str, Any]:
        return {}

    async def answer(self, entry: ServerEntry, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def told(self, connection: ServerConnection, method: str, params: dict[str, Any]) -> None:
        pass

    def changed(self, connection: ServerConnection) -> None:
        self.parts.changed()


def log_file(paths: Paths, name: str) -> Path:
    return paths.logs / "mcp" / f"{name}.log"
