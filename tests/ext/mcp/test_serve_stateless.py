"""`tau mcp serve` for clients of the newest revision, which ask in results instead of requests."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from tau.ai.http import HttpTransport
from tau.modes import mcp_server_http
from tau.sdk import SessionOptions
from tests.ext.mcp.test_serve import ASK, SERVE

TOKEN = "t" * 64
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


@asynccontextmanager
async def served(folder: Path, **settings: Any) -> AsyncIterator["Caller"]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        options = SessionOptions(cwd=folder, save=False, settings=settings)
        serving = asyncio.ensure_future(mcp_server_http.serve(options, TOKEN, listener))
        http = HttpTransport({})
        try:
            yield Caller(http, f"http://127.0.0.1:{listener.getsockname()[1]}{mcp_server_http.PATH}")
        finally:
            await http.close()
            serving.cancel()
            await asyncio.wait((serving,))


class Caller:
    def __init__(self, http: HttpTransport, url: str) -> None:
        self._http, self._url = http, url

    async def ask(self, method: str, **params: Any) -> tuple[int, dict[str, Any]]:
        """The status, and the answer or error."""
        name = params.get("name")
        headers = {
            "authorization": f"Bearer {TOKEN}",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
            **({"mcp-name": name} if name else {}),
        }
        body = json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}})
        async with self._http.open("POST", self._url, headers=headers, body=body) as response:
            data = b"".join([chunk async for chunk in response.chunks()])
        text = data.split(b"data: ", 1)[-1].strip()
        answer = json.decode(text)
        return response.status, answer.get("result") or answer["error"]


WRITE = {"name": "write", "arguments": {"path": "new.txt", "content": "text"}}


def answer(**fields: Any) -> dict[str, Any]:
    return {"inputResponses": {"answer": fields}}


def test_an_approval_is_asked_in_a_result_and_answered_by_the_next_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, **{"tools.approvalMode": "ask"}) as client:
            status, asked = await client.ask("tools/call", **WRITE)
            assert status == 200 and asked["resultType"] == "input_required"
            question = asked["inputRequests"]["answer"]["params"]
            assert "new.txt" in question["message"]
            choices = question["requestedSchema"]["properties"]["answer"]["enum"]
            yes = answer(action="accept", content={"answer": choices[0]})
            _, done = await client.ask("tools/call", **WRITE, **yes, requestState=asked["requestState"])
            assert done["resultType"] == "complete" and not done["isError"]
            assert (tmp_path / "new.txt").read_text() == "text"

    asyncio.run(main())


@pytest.mark.parametrize("how", ["another call", "an unknown state", "a state that was used", "declined"])
def test_an_approval_holds_for_the_call_it_was_asked_for(how: str, tmp_path: Path) -> None:
    other = {"name": "write", "arguments": {"path": "other.txt", "content": "text"}}

    async def main() -> None:
        async with served(tmp_path, **{"tools.approvalMode": "ask"}) as client:
            _, asked = await client.ask("tools/call", **WRITE)
            state = asked["requestState"]
            yes = answer(action="accept", content={"answer": "Yes"})
            match how:
                case "declined":
                    _, done = await client.ask(
                        "tools/call", **WRITE, **answer(action="decline"), requestState=state
                    )
                    assert done["isError"]
                case "a state that was used":
                    await client.ask("tools/call", **WRITE, **answer(action="cancel"), requestState=state)
                    _, error = await client.ask("tools/call", **WRITE, **yes, requestState=state)
                    assert error["code"] == -32602
                case _:
                    call = other if how == "another call" else WRITE
                    used = state if how == "another call" else "0" * 32
                    _, error = await client.ask("tools/call", **call, **yes, requestState=used)
                    assert error["code"] == -32602
            assert not list(tmp_path.glob("*.txt"))

    asyncio.run(main())


def test_a_client_that_cannot_be_asked_gets_a_sentence(tmp_path: Path) -> None:
    mute = {**META, "io.modelcontextprotocol/clientCapabilities": {}}

    async def main() -> None:
        async with served(tmp_path, **{"tools.approvalMode": "ask"}) as client:
            _, done = await client.ask("tools/call", **WRITE, _meta=mute)
            assert done["isError"] and done["content"][0]["text"]
            assert not (tmp_path / "new.txt").exists()

    asyncio.run(main())


def test_clients_with_the_same_ids_get_their_own_questions_and_results(tmp_path: Path) -> None:
    async def write(client: Caller, name: str) -> None:
        call = {"name": "write", "arguments": {"path": name, "content": name}}
        _, asked = await client.ask("tools/call", **call)
        question = asked["inputRequests"]["answer"]["params"]
        assert name in question["message"]
        choice = question["requestedSchema"]["properties"]["answer"]["enum"][0]
        yes = answer(action="accept", content={"answer": choice})
        _, done = await client.ask("tools/call", **call, **yes, requestState=asked["requestState"])
        assert name in done["content"][0]["text"]

    async def main() -> None:
        async with served(tmp_path, **{"tools.approvalMode": "ask"}) as client:
            await asyncio.gather(*(write(client, f"{n}.txt") for n in range(4)))
            assert sorted(path.name for path in tmp_path.glob("*.txt")) == [f"{n}.txt" for n in range(4)]

    asyncio.run(main())


def test_the_client_of_the_official_sdk_approves_a_write(tmp_path: Path) -> None:
    pytest.importorskip("mcp.client.client")
    from mcp import types
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    environ = {name: os.environ[name] for name in ("HOME", "PATH", "TAU_HOME") if name in os.environ}
    server = StdioServerParameters(command=sys.executable, args=[*SERVE, *ASK], env=environ, cwd=tmp_path)

    async def agree(context: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"answer": "Yes"})

    async def main() -> None:
        async with Client(stdio_client(server), mode="2026-07-28", elicitation_callback=agree) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} >= {"read", "prompt"}
            done = await client.call_tool("write", WRITE["arguments"])
            assert not done.is_error, done
        assert (tmp_path / "new.txt").read_text() == "text"

    asyncio.run(main())
