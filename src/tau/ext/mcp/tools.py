"""The tools of servers, as tools of the session."""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UNSET, Struct, json

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool, ToolOrigin
from tau.ai.dialect import ToolSpec
from tau.ai.proxy import parse_url
from tau.base.errors import TauError, ToolError
from tau.base.json_rpc import JsonRpcError
from tau.base.late import late
from tau.base.text import clean_line, plain, reveal_invisible, sentence, shortened
from tau.coding.ports import CodingContext
from tau.ext.mcp.client import Progress
from tau.ext.mcp.messages import ConnectionLost, McpError, ToolDefinition
from tau.ext.mcp.results import McpDetails, to_output

tasks = late("tau.ext.mcp.tasks")

if TYPE_CHECKING:
    from tau.ext.mcp.connection import ServerConnection
    from tau.ext.mcp.tool_catalog import ToolCatalog

MAX_NAME_CHARS = 64
PROGRESS_S = 0.1  # between two updates of the screen


class CallTool(Protocol):
    """Runs a tool on its server. Raises JsonRpcError and McpError."""

    async def __call__(
        self,
        connection: "ServerConnection",
        tool: ToolDefinition,
        arguments: dict[str, Any],
        progress: Progress,
        ctx: CodingContext,
        /,
    ) -> dict[str, Any]: ...


class McpArguments(Struct, frozen=True):
    """Arguments as the model sent them: the server checks them."""

    values: dict[str, Any] = {}


def plain_name(server: str, tool: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server}_{tool}")


def tool_names(server: str, tools: Sequence[str], servers: Sequence[str]) -> dict[str, str]:
    """The name of each tool, which depends on configured names alone, not on who connects first.

    Where two would have the same name, one keeps it; the others end in a hash.
    """
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    prefixes = {other: plain_name(other, "") for other in servers if other != server}
    for tool in sorted(tools, key=lambda tool: (plain_name(server, tool) != f"mcp__{server}_{tool}", tool)):
        name = plain_name(server, tool)
        rivals = [other for other, prefix in prefixes.items() if name.startswith(prefix)]
        is_taken = owners.setdefault(name, tool) != tool
        loses = any((len(other), other) > (len(server), server) for other in rivals)
        if is_taken or loses or len(name) > MAX_NAME_CHARS:
            digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
            name = f"{name[: MAX_NAME_CHARS - 9]}_{digest}"
        names[tool] = name
    return names


def is_offered(name: str, enabled: Sequence[str], disabled: Sequence[str]) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in disabled):
        return False
    return not enabled or any(fnmatchcase(name, pattern) for pattern in enabled)


class McpTool(Tool[McpArguments]):
    """Works on a cached definition too: the call then waits for the connection."""

    def __init__(
        self,
        catalog: "ToolCatalog",
        connection: "ServerConnection",
        definition: ToolDefinition,
        name: str,
        call: "CallTool",
    ) -> None:
        self.name = name
        self.definition = definition
        self._catalog, self._connection, self._call = catalog, connection, call
        server = connection.name
        self.label = f"{server}: {shortened(clean_line(definition.title or definition.name), 80)}"
        alias = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server}__{definition.name}")
        self.aliases = (alias,) if alias != name else ()
        self.origin = ToolOrigin("mcp", server, definition.name, always=connection.entry.server.always_load)

    @cached_property
    def description(self) -> str:
        text = plain(self.definition.description).strip()
        return text or f"{self.definition.title or self.definition.name}, a tool of {self._connection.name}"

    @cached_property
    def spec(self) -> ToolSpec:
        schema = self.definition.input_schema
        if not (text := json.encode(schema).decode()).isascii():  # nothing may hide in it from people
            schema = json.decode(reveal_invisible(text))
        return ToolSpec(self.name, self.description, schema)

    def decode(self, arguments: dict[str, Any]) -> tuple[McpArguments, list[str]]:
        return McpArguments(arguments), []

    def effects(self, params: McpArguments, cwd: Path) -> Effects:
        server = self._connection.entry.server
        hosts: tuple[str, ...] = ()
        if server.type != "stdio":
            try:
                hosts = (parse_url(server.url).host,)
            except TauError:
                hosts = ("*",)
        claim = (("the server says", "it only reads"),) if self.definition.is_read_only else ()
        return Effects(
            mcp=(self._connection.name, self.definition.name),
            mcp_change=self._catalog.changed_definition(self._connection.name, self.definition.name),
            network=hosts,
            details=(("server", self._connection.entry.provider), *claim),
        )

    async def run(self, params: McpArguments, ctx: CodingContext) -> ToolOutput:
        connection = self._connection
        self._catalog.accept_definition(connection.name, self.definition)
        if tasks.needs_task(connection, self.definition):
            return tasks.start_job(connection, self.definition, params.values, ctx)
        details = McpDetails(server=connection.name, tool=self.definition.name)

        loop = asyncio.get_running_loop()
        shown_at = 0.0

        def progress(done: float, total: float | None, message: str) -> None:
            nonlocal shown_at
            if loop.time() - shown_at < PROGRESS_S:
                return
            shown_at = loop.time()
            shown = McpDetails(
                server=details.server,
                tool=details.tool,
                progress=done,
                total=UNSET if total is None else total,
            )
            text = message or (f"{done:g}" if total is None else f"{done:g} of {total:g}")
            ctx.update(ToolOutput.text(clean_line(text), shown))

        try:
            result = await self._call(connection, self.definition, params.values, progress, ctx)
        except JsonRpcError as error:
            raise ToolError(f"{connection.name} refused the call: {sentence(str(error))}") from None
        except ConnectionLost as error:
            advice = "It may have done part of its work. The next call connects again."
            raise ToolError(
                f"The MCP server {connection.name} ended during the call: {error} {advice}"
            ) from None
        except McpError as error:
            raise ToolError(str(error)) from None
        return await to_output(result, details, ctx.artifacts)
