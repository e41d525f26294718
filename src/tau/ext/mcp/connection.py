"""The life of one server: connects, lists its tools, notices its death, connects again."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tau.base import log
from tau.base.errors import ConfigError, TauError
from tau.base.tasks import spawn
from tau.base.text import sentence
from tau.ext.mcp.client import McpClient, McpTransport
from tau.ext.mcp.config import McpServer, ServerEntry
from tau.ext.mcp.messages import (
    HANDSHAKE_VERSIONS,
    MAX_TOOLS,
    ConnectionLost,
    McpError,
    NotStreamable,
    ServerInfo,
    ToolDefinition,
    read_tool,
)
from tau.ext.mcp.param_headers import header_names, param_headers
from tau.ext.mcp.server_resources import ServerResources

T = TypeVar("T")
State = Literal["off", "waiting", "connecting", "needs login", "connected", "reconnecting", "failed"]
BACKOFF_S = (0.5, 1.0, 2.0, 4.0)
MAX_BACKOFF_S = 300.0
STORM, STORM_S = 5, 30.0
MAX_PROMPTS = 500
QUIET_S = 0.5  # a burst of change notifications is one refresh


class ConnectionHost(Protocol):
    """What a connection needs of the session."""

    async def resolve(self, entry: ServerEntry) -> McpServer: ...
    def open(
        self, entry: ServerEntry, server: McpServer, client: McpClient, group: asyncio.TaskGroup
    ) -> AbstractAsyncContextManager[McpTransport]: ...
    def capabilities(self, entry: ServerEntry) -> dict[str, Any]: ...
    async def answer(self, entry: ServerEntry, method: str, params: dict[str, Any]) -> dict[str, Any]: ...
    def told(self, connection: "ServerConnection", method: str, params: dict[str, Any]) -> None: ...
    def changed(self, connection: "ServerConnection") -> None: ...
    def listed(self, connection: "ServerConnection") -> None: ...
    async def known_version(self, entry: ServerEntry) -> str: ...


class _Requests(Struct):
    """Implements `ServerRequests` for one connection."""

    connection: "ServerConnection"

    def capabilities(self) -> dict[str, Any]:
        return self.connection.host.capabilities(self.connection.entry)

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self.connection.host.answer(self.connection.entry, method, params)

    def notice(self, method: str, params: dict[str, Any]) -> None:
        self.connection.on_notice(method, params)


class ServerConnection:
    """`run` lives as long as the session; calls wait for the connection and survive its death."""

    def __init__(self, entry: ServerEntry, host: ConnectionHost, group: asyncio.TaskGroup) -> None:
        self.entry, self.host, self._group = entry, host, group
        self.name = entry.name
        self.state: State = "connecting"
        self.reason = ""
        self.info: ServerInfo | None = None
        self.tools: list[ToolDefinition] = []
        self.prompts: list[dict[str, Any]] = []
        self._lists_prompts = False
        self.resources = ServerResources(self.name, self._spawn)
        self.from_cache = False
        self.restarts = 0
        self.modern = "try"
        self._is_old = False  # it speaks the older HTTP transport
        self.client: McpClient | None = None
        self._settled = asyncio.Event()  # the first attempt has ended
        self._change = asyncio.Event()  # of the state
        self._wake = asyncio.Event()  # connect now
        self._starts: deque[float] = deque(maxlen=STORM + 1)
        self._refreshing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._own: set[asyncio.Task[None]] = set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that ends with the connection."""
        task = spawn(self._group, work)
        self._own.add(task)
        task.add_done_callback(self._own.discard)
        return task

    def start(self) -> None:
        self._task = spawn(self._group, self._run_guarded())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def settled(self) -> None:
        """Wait until it is connected, or the first attempt has failed."""
        await self._settled.wait()

    def reconnect(self) -> None:
        """Connect now, whatever happened before."""
        self._starts.clear()
        self._wake.set()
        if self.client is not None and self.client.transport is not None:
            lost = self.client.transport.lost
            if not lost.done():
                lost.set_result("You asked for a new connection.")

    async def connected(self) -> McpClient:
        """The live client, after a connection if necessary. Raises McpError."""
        limit_s = self.entry.server.startup_timeout / 1000
        if self.client is None and self.state == "failed":
            self._wake.set()
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(limit_s):
                while self.client is None:
                    if self.state in ("off", "waiting"):
                        raise McpError(self._explain())
                    if self.state in ("needs login", "failed") and not self._wake.is_set():
                        raise McpError(self._explain(), needs_login=self.state == "needs login")
                    self._change.clear()
                    await self._change.wait()
        except TimeoutError:
            raise McpError(f"{self._explain()} It did not connect within {limit_s:g} s.") from None
        return self.client

    def _explain(self) -> str:
        if self.state == "needs login":
            return f"The MCP server {self.name} needs a login: tau mcp login {self.name}."
        state = f"MCP server {self.name} ({self.state})"
        return f"{state}: {self.reason}" if self.reason else f"{state} cannot be used."

    async def use(self, work: Callable[[McpClient], Awaitable[T]]) -> T:
        """Work with the connection; again on a new one if the server cannot have seen the request."""
        for _ in range(2):
            client = await self.connected()
            try:
                return await work(client)
            except ConnectionLost as error:
                await asyncio.sleep(0)
                if error.sent:
                    raise
                lost = error
        raise lost

    async def _run_guarded(self) -> None:
        try:
            await self._run()
        except Exception as error:
            log.error(f"The connection to the MCP server {self.name} failed.", error)
            self._set("failed", f"{type(error).__name__}: {error}")

    async def _run(self) -> None:
        failures = 0
        while True:
            was_connected, error = await self._connect_once()
            failures = 0 if was_connected and not self._is_storm() else failures + 1
            delay = self._delay(error, failures - 1, was_connected=was_connected)
            if delay != 0.0:
                self._settled.set()
            if delay is None:
                self._set("needs login" if error.needs_login else "failed", str(error))
            else:
                self._set("reconnecting", str(error))
            try:
                async with asyncio.timeout(delay):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            self.restarts += 1
            self._set("reconnecting" if was_connected else "connecting")

    def _delay(self, error: McpError, failures: int, *, was_connected: bool) -> float | None:
        """Until the next attempt; None: when somebody asks."""
        is_remote = self.entry.server.type != "stdio"
        if error.needs_login or error.final or self._is_storm():
            return None
        if was_connected:
            return 0.0 if isinstance(error, ConnectionLost) and not error.sent else BACKOFF_S[0]
        if isinstance(error, NotStreamable) and not self._is_old:
            self._is_old = True
            return 0.0
        if not is_remote and self.info is None:
            return None  # it has never worked
        if failures < len(BACKOFF_S):
            return BACKOFF_S[failures]
        return min(BACKOFF_S[-1] * 2 ** (failures - len(BACKOFF_S) + 1), MAX_BACKOFF_S) if is_remote else None

    def _is_storm(self) -> bool:
        now = asyncio.get_running_loop().time()
        return len(self._starts) > STORM and now - self._starts[0] < STORM_S

    async def _connect_once(self) -> tuple[bool, McpError]:
        """Connect and stay connected. Returns whether that worked, and why it ended."""
        server = self.entry.server
        self._starts.append(asyncio.get_running_loop().time())
        client = McpClient(self.name, _Requests(self), self._group, server.timeout / 1000 or None)
        try:
            resolved = await self.host.resolve(self.entry)
            if len(self._starts) == 1 and await self.host.known_version(self.entry) in HANDSHAKE_VERSIONS:
                self.modern = "no"  # the handshake that worked last time, without asking first
            if self._is_old:
                resolved = replace(resolved, type="sse")
            async with self.host.open(self.entry, resolved, client, self._group) as transport:
                async with asyncio.timeout(server.startup_timeout / 1000):
                    info = await client.connect(transport, modern=self.modern)
                    self.modern = "try" if info.is_modern else "no"
                    self.info = info
                    await self._list(client)
                self.client = client
                self._settled.set()
                self._set("connected")
                self.resources.connected(client)
                if info.offers("prompts"):
                    self._spawn(self._list_prompts(client))
                try:
                    reason = await asyncio.shield(transport.lost)
                finally:
                    self.client = self._refreshing = None
                    self._lists_prompts = False
                    for task in (*self._own, *client.serving):
                        task.cancel()
                return True, ConnectionLost(reason, sent=not transport.expired)
        except TimeoutError:
            return False, McpError(f"It did not connect within {server.startup_timeout / 1000:g} s.")
        except McpError as error:
            return False, error
        except TauError as error:
            return False, McpError(str(error), final=isinstance(error, ConfigError))

    async def _list(self, client: McpClient) -> None:
        found = await client.list_all("tools", limit=MAX_TOOLS) if client.info.offers("tools") else []
        tools = [tool for fields in found if (tool := read_tool(fields)) is not None]
        if client.info.is_modern and self.entry.server.type != "stdio":
            headers = {tool.name: header_names(tool.input_schema) for tool in tools}
            tools = [tool for tool in tools if headers[tool.name] is not None]
            client.param_headers = lambda name, arguments: param_headers(headers.get(name) or {}, arguments)
        self.tools = tools
        self.from_cache = False
        self.host.listed(self)

    async def _list_prompts(self, client: McpClient) -> None:
        """Nobody waits for these."""
        self._lists_prompts = True
        await asyncio.sleep(QUIET_S if self.prompts else 0)
        self._lists_prompts = False  # a change from now on is another one
        await self.list_prompts(client)

    async def list_prompts(self, client: McpClient) -> None:
        try:
            self.prompts = await client.list_all("prompts", limit=MAX_PROMPTS)
        except TauError as error:
            log.debug(f"The prompts of the MCP server {self.name} could not be listed.", error)

    def on_notice(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/prompts/list_changed":
            if not self._lists_prompts and self.client is not None:
                self._spawn(self._list_prompts(self.client))
        elif method == "notifications/resources/list_changed":
            if self.client is not None:
                self.resources.list_soon(self.client)
        elif method == "notifications/tools/list_changed":
            if self._refreshing is None and self.client is not None:
                self._refreshing = self._spawn(self._refresh(self.client))
        else:
            self.host.told(self, method, params)

    async def _refresh(self, client: McpClient) -> None:
        await asyncio.sleep(QUIET_S)
        self._refreshing = None  # a change from now on is another one
        try:
            await self._list(client)
            self.host.changed(self)
        except TauError as error:
            log.warning(f"The tools of the MCP server {self.name} could not be listed again.", error)

    def _set(self, state: State, reason: str = "") -> None:
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, sentence(reason) if reason else ""
            self.host.changed(self)
        self._change.set()
