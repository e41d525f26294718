"""Servers over HTTP that forget, redirect, refuse, cut their streams and send too much."""

import asyncio
import gc
import json
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ext.mcp.rig import call_script, connected, faux_server, result_text, session_with

Handler = Callable[[str, dict[str, Any], dict[str, str]], "tuple[int, dict[str, str], bytes] | None"]
TOOL = {"name": "echo", "description": "Echo", "inputSchema": {"type": "object"}}
JSON = {"content-type": "application/json"}


def usual(message: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """A well-behaved answer."""
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        },
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "echoed"}]},
    }
    method, id = message.get("method"), message.get("id")
    if id is None:
        return 202, {}, b""
    if method not in results:
        error = {"code": -32601, "message": "no"}
        return 200, JSON, json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()
    headers = {**JSON, "mcp-session-id": "s1"} if method == "initialize" else JSON
    return 200, headers, json.dumps({"jsonrpc": "2.0", "id": id, "result": results[method]}).encode()


@asynccontextmanager
async def served(handle: Handler, *, keeps: bool = False) -> AsyncIterator[tuple[str, list[str]]]:
    """Answers with what `handle` says, or as usual; notes the methods that were called.

    One that `keeps` connections ends one for the status 0.
    """
    seen: list[str] = []

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await answer_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        verb = head.split(" ", 1)[0]
        lines = [line.partition(":") for line in head.split("\r\n")[1:] if ":" in line]
        headers = {name.lower(): value.strip() for name, _, value in lines}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        message = json.loads(body) if body else {}
        seen.append(message.get("method") or verb)
        answer = handle(verb, message, headers)
        if answer is None:
            answer = usual(message) if verb == "POST" else (405, {}, b"")
        status, sent, data = answer
        if not status:
            return False
        rows = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        size = "" if "event-stream" in str(sent) else f"content-length: {len(data)}\r\n"
        end = "" if keeps else "connection: close\r\n"
        writer.write(f"HTTP/1.1 {status} X\r\n{end}{rows}{size}\r\n".encode() + data)
        await writer.drain()
        return keeps

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", seen
    finally:
        server.close()


def ask(folder: Path, handle: Handler, *, keeps: bool = False) -> tuple[str, str, list[str]]:
    """The state of the server, the text of one call, and what the server saw."""

    async def main() -> tuple[str, str, list[str]]:
        async with served(handle, keeps=keeps) as (url, seen):
            script = call_script("mcp__raw_echo", text="x")
            async with session_with(folder, {"raw": {"url": url}}, script) as (session, _):
                late = await connected(session)
                [row] = late.status()
                await session.prompt("Go.")
                return f"{row.state}: {row.why}", result_text(session), seen

    return asyncio.run(main())


def test_a_forgotten_session_is_opened_again_and_the_call_repeated(tmp_path: Path) -> None:
    left = [1]

    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        if message.get("method") == "tools/call" and left:
            left.clear()
            return 404, {}, b""
        return None

    state, text, seen = ask(tmp_path, handle)
    assert state == "connected: " and "echoed" in text
    assert seen.count("initialize") == 2 and seen.count("tools/call") == 2


def test_a_busy_server_may_not_have_run_the_call_so_it_is_sent_again(tmp_path: Path) -> None:
    left = [1]

    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        if message.get("method") == "tools/call" and left:
            left.clear()
            return 503, {}, b""
        return None

    _, text, seen = ask(tmp_path, handle)
    assert "echoed" in text and seen.count("tools/call") == 2


def test_a_call_is_not_repeated_if_a_reused_connection_ends_after_it(tmp_path: Path) -> None:
    """A server killed during a call had it again from a new process."""
    left = [1]

    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        if message.get("method") == "tools/call" and left:
            left.clear()
            return 0, {}, b""
        return None

    _, text, seen = ask(tmp_path, handle, keeps=True)
    assert "may have done part of its work" in text and seen.count("tools/call") == 1


def test_an_ambiguous_failure_is_not_repeated(tmp_path: Path) -> None:
    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        return (502, {}, b"") if message.get("method") == "tools/call" else None

    _, text, seen = ask(tmp_path, handle)
    assert "It answered 502" in text and seen.count("tools/call") == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((429, {"retry-after": "7"}, b""), "429: It gets too many requests. Try again in 7 s."),
        ((200, {"content-type": "text/html"}, b"<html>"), "It answered text/html, not with MCP."),
        (
            (200, {"content-type": "text/event-stream"}, b": nothing\n\n"),
            "Its stream ended before the answer.",
        ),
    ],
)
def test_odd_answers_become_sentences(answer: Any, sentence: str, tmp_path: Path) -> None:
    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        return answer if message.get("method") == "tools/call" else None

    assert sentence in ask(tmp_path, handle)[1]


def test_a_redirect_to_another_server_is_not_followed(tmp_path: Path) -> None:
    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        return 307, {"location": "http://127.0.0.1:9/steal"}, b""

    state, _, _ = ask(tmp_path, handle)
    assert state.startswith("failed: It redirects to 127.0.0.1:9, another server")


def test_a_stream_of_one_huge_event_fails_the_call_only(tmp_path: Path) -> None:
    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        huge = b"data: " + b"x" * 20_000_000
        return (
            (200, {"content-type": "text/event-stream"}, huge)
            if message.get("method") == "tools/call"
            else None
        )

    assert "more than 16 MiB" in ask(tmp_path, handle)[1]


@pytest.mark.soak
def test_a_result_of_100_mb_does_not_grow_us(tmp_path: Path) -> None:
    async def main() -> None:
        servers = {"faux": faux_server(fault="huge", size=100_000_000)}
        async with session_with(tmp_path, servers, call_script("mcp__faux_echo", text="x")) as (session, _):
            await connected(session)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            await session.prompt("Go.")
            assert "at most 16 MiB is read" in result_text(session)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024

    asyncio.run(main())


@pytest.mark.soak
def test_a_hundred_sessions_leave_no_descriptor(tmp_path: Path) -> None:
    async def main() -> None:
        counts = []
        for _ in range(100):
            async with session_with(tmp_path, {"faux": faux_server()}) as (session, _):
                await connected(session)
            gc.collect()
            counts.append(len(list(Path("/proc/self/fd").iterdir())))
        assert counts[-1] <= counts[5] + 2

    asyncio.run(main())


def test_a_server_is_usable_right_after_the_login(tmp_path: Path) -> None:
    """`tau mcp login` said that the server needs a login, although the browser had just given it."""
    locked = [1]

    def handle(verb: str, message: dict[str, Any], headers: dict[str, str]) -> Any:
        return (401, {"www-authenticate": "Bearer"}, b"") if locked else None

    async def main() -> None:
        async with served(handle) as (url, _), session_with(tmp_path, {"raw": {"url": url}}) as (session, _):
            late = await connected(session)
            assert late.servers is not None
            connection = late.servers.connections["raw"]
            assert connection.state == "needs login"
            locked.clear()
            connection.reconnect()
            assert (await connection.connected()).info.name == "raw"

    asyncio.run(main())
