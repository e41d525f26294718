"""Serves MCP clients over streamable HTTP on this machine: one endpoint per session."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tau.base.json_rpc import PARSE_ERROR, decode_messages
from tau.modes.mcp_server import McpEndpoint
from tau.modes.serve.access import AccessGate
from tau.modes.serve.server import HttpServer
from tau.sdk import SessionOptions

PATH = "/v1/mcp"
MAX_SESSIONS = 20
KEEP_ALIVE_S = 15.0


class McpSessions:
    """The sessions of all clients, by the id that each one got."""

    def __init__(self, options: SessionOptions, tasks: asyncio.TaskGroup) -> None:
        self._options, self._tasks = options, tasks
        self._open: dict[str, McpEndpoint] = {}

    def app(self, token: str) -> ASGIApp:
        routes = [Route(PATH, self.serve, methods=["POST", "GET", "DELETE"])]
        return AccessGate(Starlette(routes=routes), token, (), ())

    async def serve(self, request: Request) -> Response:
        id = request.headers.get("mcp-session-id", "")
        if request.method == "GET":
            return Response(status_code=405, headers={"allow": "POST, DELETE"})
        if request.method == "DELETE":
            endpoint = self._open.pop(id, None)
            if endpoint is not None:
                await endpoint.close()
            return Response(status_code=200 if endpoint else 404)
        body = await request.body()
        try:
            messages = decode_messages(body)
        except ValueError:
            return _error(400, PARSE_ERROR, "This is not JSON-RPC.")
        methods = [message.method for message in messages]
        if "initialize" in methods:
            while len(self._open) >= MAX_SESSIONS:
                await self._open.pop(next(iter(self._open))).close()
            id = os.urandom(16).hex()
            self._open[id] = McpEndpoint(self._options, self._tasks, _nowhere)
        endpoint = self._open.get(id)
        if endpoint is None:
            return _error(404 if id else 400, -32600, "There is no such session; send initialize first.")
        expected = sum(
            isinstance(message.method, str) and isinstance(message.id, int | str) for message in messages
        )
        if not expected:
            endpoint.take(body)
            return Response(status_code=202)
        headers = {"mcp-session-id": id, "cache-control": "no-store"}
        events = _events(endpoint, body, expected)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def close(self) -> None:
        for endpoint in self._open.values():
            await endpoint.close()


async def _events(endpoint: McpEndpoint, body: bytes, expected: int) -> AsyncIterator[bytes]:
    """What one request causes, until it is answered."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(data: bytes) -> None:
        await queue.put(data)

    endpoint.take(body, send)
    while expected:
        try:
            async with asyncio.timeout(KEEP_ALIVE_S):
                data = await queue.get()
        except TimeoutError:
            yield b": working\n\n"
            continue
        yield b"event: message\ndata: " + data + b"\n\n"
        expected -= b'"method"' not in data[:60]


async def _nowhere(data: bytes) -> None:
    """Without a lasting stream, what no request causes has no way to the client."""


def _error(status: int, code: int, message: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}, status)


async def serve(options: SessionOptions, token: str, listener: socket.socket) -> None:
    """Serve until canceled."""
    listener.listen()
    listener.setblocking(False)
    async with asyncio.TaskGroup() as tasks:
        sessions = McpSessions(options, tasks)
        server = HttpServer(sessions.app(token), lambda server: None, sessions.close)
        try:
            await server.serve([listener])
        finally:
            await sessions.close()
            for one in server.servers:
                one.close()
            listener.close()
