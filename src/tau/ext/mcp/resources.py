"""Reads the resources of servers: `mcp://SERVER/URI`; `mcp://SERVER` lists them."""

from pathlib import Path

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.base.json_rpc import JsonRpcError
from tau.base.text import clean_line, shortened
from tau.coding.files.targets import resource_server
from tau.coding.ports import Resource
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import McpError, list_at, text_at
from tau.ext.mcp.results import decode_blob
from tau.ext.mcp.servers import McpServers

MAX_LISTED = 200


class ResourceUrls:
    """Implements `tau.coding.ports.UrlScheme`. A URI without a server is looked for on all of them."""

    scheme = "mcp"

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        """Raises ToolError."""
        name, uri = resource_server(rest), rest.partition("/")[2]
        connection = self._servers.connections.get(name)
        url = f"mcp://{rest}"
        try:
            if name == "*":
                return await self._search(rest.removeprefix("/"), url)
            if connection is None and name:
                known = ", ".join(self._servers.connections) or "none"
                raise ToolError(f'There is no MCP server "{clean_line(name)}"; servers: {known}.')
            if connection is None:
                rows = [f"mcp://{name}  {one.state}" for name, one in self._servers.connections.items()]
                return Resource(url=url, data="\n".join(rows).encode())
            if not uri:
                return Resource(url=url, data=(await self._listing(connection)).encode())
            return await self._read(connection, uri, url)
        except JsonRpcError as error:
            raise ToolError(f"The MCP server cannot read {clean_line(rest)}: {error}") from None
        except McpError as error:
            raise ToolError(str(error)) from None

    async def _search(self, uri: str, url: str) -> Resource:
        """Ask the servers that have resources in turn."""
        problem = "no server has resources"
        for connection in self._servers.connections.values():
            if connection.info is not None and connection.info.offers("resources"):
                try:
                    return await self._read(connection, uri, url)
                except (JsonRpcError, McpError) as error:
                    problem = str(error)
        raise ToolError(f"No MCP server can read {clean_line(uri)}: {problem}.")

    async def _read(self, connection: ServerConnection, uri: str, url: str) -> Resource:
        result = await connection.use(lambda client: client.request("resources/read", {"uri": uri}))
        if self._servers.parts.note is not None:
            connection.resources.watch(connection.client, uri)
        parts = list_at(result, "contents")
        return Resource(url=url, data=b"\n".join(_content(one) for one in parts))

    async def _listing(self, connection: ServerConnection) -> str:
        client = await connection.connected()
        if not client.info.offers("resources"):
            return f"{connection.name} has no resources."
        found = await client.list_all("resources", limit=MAX_LISTED)
        found += await client.list_all("resources/templates", limit=MAX_LISTED)
        rows = [_row(connection.name, one) for one in found]
        return "\n".join(rows) or f"{connection.name} has no resources."

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        raise ToolError("mcp:// can be read, not written.")

    def written_files(self, rest: str) -> tuple[Path, ...]:
        return ()


def _content(part: dict[str, object]) -> bytes:
    text = part.get("text")
    return (
        text.encode(errors="replace") if isinstance(text, str) else decode_blob(text_at(part, "blob", 10**8))
    )


def _row(server: str, fields: dict[str, object]) -> str:
    uri = text_at(fields, "uri", 2_000) or text_at(fields, "uriTemplate", 2_000)
    about = text_at(fields, "description", 300) or text_at(fields, "name", 200)
    return f"mcp://{server}/{clean_line(uri)}  {shortened(clean_line(about), 150)}"
