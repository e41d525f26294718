"""The MCP servers that an editor passes, as definitions like those in files."""

from typing import TypeAlias

from acp import schema as a

McpServer: TypeAlias = a.HttpMcpServer | a.SseMcpServer | a.AcpMcpServer | a.McpServerStdio


def definition_of(server: McpServer) -> dict[str, object]:
    """One that only the editor can reach has neither a command nor a URL, which is reported."""
    if isinstance(server, a.McpServerStdio):
        env = {variable.name: variable.value for variable in server.env or ()}
        return {"command": server.command, "args": list(server.args or ()), "env": env}
    if isinstance(server, a.HttpMcpServer | a.SseMcpServer):
        kind = "sse" if isinstance(server, a.SseMcpServer) else "http"
        headers = {header.name: header.value for header in server.headers or ()}
        return {"type": kind, "url": server.url, "headers": headers}
    return {}
