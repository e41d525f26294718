"""tau as an MCP server, driven by the official SDK's client and by tau's own."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.sdk import SessionOptions
from tau.sdk.servers import open_servers
from tests.ext.mcp.rig import call_script, connected, result_text, session_with

SERVE = ["-c", "import sys; from tau.cli.main import main; sys.exit(main())", "mcp", "serve"]
ASK = ["--approval-mode", "ask"]


def definition(*flags: str, **fields: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [*SERVE, *flags], "inheritEnv": ["TAU_HOME"], **fields}


def test_its_tools_read_and_edit_with_one_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\nsecond\n")

    async def main() -> None:
        script = call_script("mcp__tau_read", path="a.txt")
        async with session_with(tmp_path, {"tau": definition()}, script) as (session, faux):
            await connected(session)
            await session.prompt("Go.")
            assert "second" in result_text(session)
            names = {spec.name for spec in faux.requests[0].tools if spec.name.startswith("mcp__tau")}
            assert names == {
                f"mcp__tau_{name}" for name in ("read", "search", "find", "edit", "write", "bash", "prompt")
            }

    asyncio.run(main())


def test_a_write_that_needs_approval_fails_with_a_sentence_or_asks(tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp")
    from mcp import types
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    environ = {name: os.environ[name] for name in ("HOME", "PATH", "TAU_HOME") if name in os.environ}
    server = StdioServerParameters(command=sys.executable, args=[*SERVE, *ASK], env=environ, cwd=tmp_path)
    asked: list[str] = []

    async def agree(context: Any, params: Any) -> Any:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "Yes"})

    async def write(**callbacks: Any) -> Any:
        async with (
            stdio_client(server) as (reading, writing),
            ClientSession(reading, writing, **callbacks) as client,
        ):
            await client.initialize()
            return await client.call_tool("write", {"path": "new.txt", "content": "text"})

    refused = asyncio.run(write())
    assert (
        refused.is_error
        and "approv" in refused.content[0].text.lower()
        and not (tmp_path / "new.txt").exists()
    )
    done = asyncio.run(write(elicitation_callback=agree))
    assert not done.is_error, done
    assert (tmp_path / "new.txt").read_text() == "text" and "new.txt" in asked[0]
    assert mcp is not None


def test_http_serves_with_a_token_only(tmp_path: Path) -> None:
    from tau.ai.http import HttpTransport
    from tau.modes import mcp_server_http

    async def main() -> None:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        options = SessionOptions(cwd=tmp_path, save=False)
        serving = asyncio.ensure_future(mcp_server_http.serve(options, "t" * 64, listener))
        url = f"http://127.0.0.1:{port}{mcp_server_http.PATH}"
        http = HttpTransport({})
        ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
        statuses = []
        for headers in (
            {},
            {"authorization": f"Bearer {'t' * 64}"},
            {"host": "evil.example", "authorization": f"Bearer {'t' * 64}"},
        ):
            async with http.open("POST", url, headers=headers, body=ping) as response:
                statuses.append(response.status)
        assert statuses == [401, 400, 421]
        os.environ["SERVED"] = "t" * 64
        own = Path(os.environ["TAU_HOME"]) / "mcp.json"
        own.parent.mkdir(parents=True, exist_ok=True)
        definition = {"url": url, "headers": {"Authorization": "Bearer ${SERVED}"}}
        own.write_text(json.dumps({"mcpServers": {"t": definition}}))
        (tmp_path / "a.txt").write_text("hello\n")
        async with open_servers(tmp_path, os.environ) as servers:
            assert servers is not None
            client = await servers.connections["t"].connected()
            result = await client.request("tools/call", {"name": "read", "arguments": {"path": "a.txt"}})
            assert "hello" in result["content"][0]["text"]
        await http.close()
        serving.cancel()
        await asyncio.wait((serving,))

    asyncio.run(main())


def test_a_client_gets_in_with_the_token_that_the_program_prints(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, *SERVE, "--http", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        words = served.stdout.readline().split()
        served.terminate()
    token = (Path(os.environ["TAU_HOME"]) / "serve_token").read_text().strip()
    assert words[-2:] == ["Bearer", token] and len(token) > 30
