"""The state of all servers, as every face shows it."""

from typing import Any

from msgspec import json

from tau.agent.tool import Tool
from tau.coding.ports import ServerStatus
from tau.config.discovery.providers import PROVIDERS
from tau.ext.mcp.config import ServerEntry
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.servers import McpServers

BYTES_PER_TOKEN = 4
_STATES = {"disabled": "off", "shadowed": "off", "invalid": "failed", "waiting": "waiting for trust"}


def statuses(servers: McpServers) -> list[ServerStatus]:
    """The used servers in the order of the configuration, then those that are not and why."""
    rows = [entry_status(servers, entry) for entry in servers.listing.entries]
    listed = {entry.name for entry in servers.listing.entries}
    rows += [
        entry_status(servers, connection.entry)
        for name, connection in servers.connections.items()
        if name not in listed
    ]
    return rows


def entry_status(servers: McpServers | None, entry: ServerEntry) -> ServerStatus:
    connection = None if servers is None else servers.connections.get(entry.name)
    if connection is not None and connection.entry is not entry:
        connection = None
    tools = [] if connection is None or servers is None else servers.catalog.of(entry.name)
    info = None if connection is None else connection.info
    server = entry.server
    return ServerStatus(
        name=entry.name,
        state=state_of(entry, connection),
        why=entry.why or ("" if connection is None else connection.reason),
        provider=next((one.name for one in PROVIDERS if one.id == entry.provider), entry.provider),
        path=str(entry.path),
        type=server.type,
        target=server.url or " ".join([server.command, *server.args]),
        tools=len(tools),
        tokens=sum(map(tool_tokens, tools)),
        version="" if info is None else f"{info.name} {info.server_version}".strip(),
        protocol="" if info is None else info.version,
    )


def state_of(entry: ServerEntry, connection: ServerConnection | None = None) -> str:
    if connection is not None:
        return connection.state
    return _STATES.get(entry.state, "off")


def tool_tokens(tool: Tool[Any]) -> int:
    """An estimate: what its definition costs in each request that has it."""
    spec = tool.spec
    return (len(spec.name) + len(spec.description) + len(json.encode(spec.parameters))) // BYTES_PER_TOKEN
