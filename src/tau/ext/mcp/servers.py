"""All MCP servers of a session: starts them, waits briefly, supplies their tools."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.loop_owner import Complete
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.http import HttpTransport
from tau.ai.model import Model
from tau.base.late import late
from tau.base.run import OUTSIDE, LocalRunner
from tau.coding.ports import CodingContext
from tau.config.paths import Paths
from tau.ext.mcp.client import McpClient, McpTransport, Progress
from tau.ext.mcp.config import McpServer, ServerEntry, exa_key, resolve
from tau.ext.mcp.config_files import ServerList
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import MAX_URI_CHARS, McpError, ToolDefinition, text_at
from tau.ext.mcp.server_resources import UPDATED, ResourceNotes
from tau.ext.mcp.stdio import StderrLog, open_stdio
from tau.ext.mcp.tool_catalog import ToolCatalog

http_transport = late("tau.ext.mcp.http")
faux = late("tau.ai.faux")
prompts = late("tau.ext.mcp.prompts")
server_requests = late("tau.ext.mcp.server_requests")
oauth = late("tau.ext.mcp.oauth")
oauth_discovery = late("tau.ext.mcp.oauth_discovery")

T = TypeVar("T")
FIRST_WAIT_S = 0.23  # of the 250 ms that servers may cost; asking their caches takes the rest


class McpParts(Struct, kw_only=True):
    """What servers need of the session. Those of the user that ask for it run `outside` the sandbox."""

    cwd: Path
    paths: Paths
    environ: Mapping[str, str]
    contained: LocalRunner
    outside: LocalRunner
    warn: Callable[[str], None]
    ui: Ui | None = None  # None: nobody can be asked
    complete: Complete | None = None
    model: Callable[[], Model] = lambda: faux.FAUX_MODEL
    folders: Callable[[], Sequence[Path]] = tuple
    sampling_tokens: int = 0
    note: Callable[[str], None] | None = None  # tells the model that a resource has changed; None: not
    debounce_s: float = 0.5
    search_keys: dict[str, str] = {}  # of search providers that are also servers
    is_live: bool = True  # part of a session, which uses what is added
    changed: Callable[[], None] = lambda: None
    open_page: Callable[[str], Awaitable[None]] | None = None  # logs in without being asked to
    tell: Callable[[str], None] = lambda text: None  # shows a login page where there is no `ui`

    async def show_page(self, url: str, paste: Callable[[str], str | None]) -> None:
        """Show the page of a login, and take the address that the browser ends at."""
        text = f"Open this page in a browser:\n\n{url}\n\n"
        if self.ui is None:
            self.tell(f"{text}If the browser is on another machine, paste the address it ends at.")
            while line := await read_line():
                self.tell(paste(line) or "Received.")
            return
        problem = ""
        while typed := await self.ui.input(
            f"{text}{problem}If it is on another machine, paste where it ends"
        ):
            problem = paste(typed) or ""
            if not problem:
                return


class McpServers:
    """Use as `async with`. Implements `ConnectionHost` and `ToolSource`."""

    def __init__(self, parts: McpParts, group: asyncio.TaskGroup) -> None:
        self.parts = parts
        self.listing = ServerList()
        self.connections: dict[str, ServerConnection] = {}
        self.http = HttpTransport(parts.environ, resends=False)  # a call must not run twice
        self.logins: dict[str, oauth.McpLogin] = {}
        self._login_https: list[HttpTransport] = []
        self.user = server_requests.UserAnswers(
            parts.ui,
            parts.complete,
            parts.model,
            lambda: [folder.as_uri() for folder in parts.folders()],
            parts.sampling_tokens,
        )
        self._group = group
        self.catalog = ToolCatalog(parts.paths, parts.warn, self.call)
        self._waited = False
        self._notes = None if parts.note is None else ResourceNotes(parts.note, parts.debounce_s)
        self.instructions = ""  # for the system prompt; the first request settles them, for the cache's sake

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
        if self._notes is not None:
            self._notes.close()
        await asyncio.gather(*(connection.stop() for connection in self.connections.values()))
        for http in (self.http, *self._login_https):
            await http.close()

    async def drop(self, name: str) -> None:
        connection = self.connections.pop(name, None)
        self.catalog.drop(name)
        if connection is not None:
            await connection.stop()

    async def wait_first(self, began: float) -> None:
        """Before the first request: wait a moment since it `began`, then use cached definitions.

        Raises McpError.
        """
        if self._waited:
            return
        self._waited = True
        left_s = max(0.0, began + FIRST_WAIT_S - asyncio.get_running_loop().time())
        await self._wait([each for each in self.connections.values() if not each.info], left_s)
        late = [one for one in self.connections.values() if one.client is None and one.state != "failed"]
        await asyncio.gather(*map(self._use_cache, late))
        required = [each for each in self.connections.values() if each.entry.server.required]
        for connection in required:
            if connection.client is None:
                limit_s = connection.entry.server.startup_timeout / 1000
                left_s = max(0.0, began + limit_s - asyncio.get_running_loop().time())
                await self._wait([connection], left_s)
            if connection.client is None:
                reason = connection.reason or f"no answer within {limit_s:g} s"
                message = f"The required MCP server {connection.name} cannot be used: {reason}"
                if self.parts.ui is None:
                    raise McpError(message)
                self.parts.warn(message)
        self.instructions = prompts.instructions_of(list(self.connections.values()))

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
            connection.tools, connection.info, connection.from_cache = found.tools, found.info, True
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

    def login_of(self, name: str, server: McpServer) -> "oauth.McpLogin | None":
        """None for one whose headers already say who we are."""
        given = {header.lower() for header in server.headers}
        if server.auth == "none" or ("authorization" in given and server.auth != "oauth"):
            return None
        if (known := self.logins.get(name)) is None or known.store.url != server.url:
            http = HttpTransport(self.parts.environ, dial=oauth_discovery.dial_for(server.url))
            self._login_https.append(http)
            known = oauth.McpLogin(self.parts.paths, server.url, server.oauth, http, self.parts.open_page)
            self.logins[name] = known
        return known

    async def resolve_plain(self, entry: ServerEntry) -> McpServer:
        """With variables and commands replaced; commands of a repository run in the sandbox."""
        runner = self.parts.outside if entry.is_own else self.parts.contained
        server = await resolve(entry, self.parts.environ, self.parts.cwd, runner)
        if entry.is_own and (key := exa_key(server)):
            self.parts.search_keys["exa"] = key
        return server

    async def resolve(self, entry: ServerEntry) -> McpServer:
        server = await self.resolve_plain(entry)
        if server.type == "stdio" and server.auth == "oauth" and server.url:
            if not entry.is_own:
                raise McpError(
                    "A repository defines it, and its program would get your login; define it in your own"
                    " mcp.json if you want that.",
                    final=True,
                )
            login = self.login_of(entry.name, server)
            token = None if login is None else await login.header()
            if token is None:
                raise McpError("It asks for a login.", needs_login=True)
            return replace(server, env={**server.env, "OAUTH_ACCESS_TOKEN": token.removeprefix("Bearer ")})
        return server

    def open(
        self, entry: ServerEntry, server: McpServer, client: McpClient, group: asyncio.TaskGroup
    ) -> AbstractAsyncContextManager[McpTransport]:
        if server.type != "stdio":
            login = self.login_of(entry.name, server)
            return http_transport.open_http(entry, server, client, self.http, group, login)
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
        return self.user.capabilities()

    async def answer(self, entry: ServerEntry, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self.user.answer(entry.name, method, params)

    def told(self, connection: ServerConnection, method: str, params: dict[str, Any]) -> None:
        """Part of `ConnectionHost`: a resource that was read may have changed."""
        uri = text_at(params, "uri", MAX_URI_CHARS)
        if self._notes is not None and method == UPDATED and connection.resources.is_watched(uri):
            self._notes.add(connection.name, uri)

    async def known_version(self, entry: ServerEntry) -> str:
        """The revision that it spoke last time; empty if nothing is known."""
        found = await asyncio.to_thread(self.catalog.cache.read, entry.digest)
        return "" if found is None or found.info is None else found.info.version

    def changed(self, connection: ServerConnection) -> None:
        self.parts.changed()


async def read_line() -> str:
    """A line that the user types; nothing without a terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        return ""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
        return sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin.fileno())


def log_file(paths: Paths, name: str) -> Path:
    return paths.logs / "mcp" / f"{name}.log"
