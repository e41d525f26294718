"""The client that the official conformance suite starts: tau's own, with a user who agrees to everything.

`conformance client --command "python tests/ext/mcp/conformance_client.py" --scenario NAME` appends the URL.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tau.ai.http import HttpTransport
from tau.base.run import LocalRunner
from tau.config.paths import Paths
from tau.ext.mcp.client import McpClient
from tau.ext.mcp.config import ServerEntry, read_server
from tau.ext.mcp.config_files import ServerList
from tau.ext.mcp.messages import McpError
from tau.ext.mcp.server_requests import ANSWER
from tau.ext.mcp.servers import McpParts, McpServers

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")


class Agreeing:
    """Implements `Ui`: accepts forms with their defaults."""

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        return ANSWER if ANSWER in options else options[0]

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        return ""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


async def open_page(url: str) -> None:
    """Follow the redirects of the login page to our callback, like a browser."""
    http = HttpTransport({})
    for _ in range(5):
        async with http.open("GET", url) as response:
            await response.read()
            location = response.headers.get("location")
        if location is None:
            break
        url = urljoin(url, location)
    await http.close()


def definition(url: str) -> dict[str, Any]:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    oauth: dict[str, Any] = {"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
    if "client_id" in context:
        oauth |= {"clientId": context["client_id"], "clientSecret": context.get("client_secret", "")}
    if SCENARIO.startswith("auth/client-credentials"):
        oauth["grant"] = "client_credentials"
    return {"url": url, "oauth": oauth, "timeout": 10_000}


async def call_tools(client: McpClient, tools: Sequence[Any]) -> None:
    for tool in tools:
        properties = tool.input_schema.get("properties", {})
        kinds = {"string": "x", "number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        if "schema" in properties:
            given = [{"arguments": {"schema": one.input_schema}} for one in tools if one is not tool]
            context = {"toolCalls": [{"name": tool.name, **one} for one in given]}
        calls = [call for call in context.get("toolCalls", ()) if call.get("name") == tool.name]
        for call in calls or [
            {"arguments": {name: kinds.get(one.get("type"), "x") for name, one in properties.items()}}
        ]:
            try:
                await client.request(
                    "tools/call", {"name": tool.name, "arguments": call.get("arguments", {})}
                )
            except Exception as error:
                print("call", tool.name, repr(error), file=sys.stderr)


async def main(url: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        runner = LocalRunner()
        parts = McpParts(
            cwd=Path(home),
            paths=Paths(Path(home)),
            environ={},
            contained=runner,
            outside=runner,
            warn=lambda text: print(text, file=sys.stderr),
            ui=Agreeing(),  # type: ignore[arg-type]
            open_page=open_page,
        )
        async with asyncio.TaskGroup() as group:
            servers = McpServers(parts, group)
            entry = ServerEntry(
                name="server", server=read_server(definition(url)), provider="test", path=Path("test")
            )
            servers.listing = ServerList((entry,))
            connection = servers.begin(entry)
            connection.modern = {"2025-11-25": "no", "2025-03-26": "no"}.get(VERSION, "try")
            try:
                client = await connection.connected()
                await call_tools(client, connection.tools)
                if client.info.offers("prompts"):
                    await client.list_all("prompts")
                if client.info.offers("resources"):
                    await client.list_all("resources")
            except McpError as error:
                print(repr(error), file=sys.stderr)
            await servers.close()
        runner.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
