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

from tau.base.json_rpc import METHOD_NOT_FOUND, PARSE_ERROR, JsonRpcError, RpcMessage, decode_messages
from tau.ext.mcp.messages import MODERN_VERSIONS, read_object
from tau.modes import mcp_calls
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
        self._shared: McpEndpoint | None = None  # for requests without a session

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
        if messages and not id and (shared := self._serve_stateless(request, messages[0], body)):
            return shared
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
        return _stream(endpoint, body, expected, {"mcp-session-id": id})

    def _serve_stateless(self, request: Request, message: RpcMessage, body: bytes) -> Response | None:
        """None if the message belongs to a session, or begins one."""
        version = request.headers.get("mcp-protocol-version", "")
        params = read_object(message.params)
        if not isinstance(message.method, str) or not isinstance(message.id, int | str):
            return None
        if version not in MODERN_VERSIONS and not mcp_calls.is_stateless(message.method, params):
            return None
        try:
            mcp_calls.check_request(message.method, params, request.headers)
        except JsonRpcError as error:
            status = 404 if error.code == METHOD_NOT_FOUND else 400
            return _error(status, error.code, str(error), message.id, error.data)
        if self._shared is None:
            self._shared = McpEndpoint(self._options, self._tasks, _nowhere)
        return _stream(self._shared, body, 1, {})

    async def close(self) -> None:
        for endpoint in (*self._open.values(), *([self._shared] if self._shared else ())):
            await endpoint.close()


def _stream(endpoint: McpEndpoint, body: bytes, expected: int, headers: dict[str, str]) -> StreamingResponse:
    events = _events(endpoint, body, expected)
    headers = {**headers, "cache-control": "no-store"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _events(endpoint: McpEndpoint, body: bytes, expected: int) -> AsyncIterator[bytes]:
    """What one request causes, until it is answered."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(data: bytes) -> None:
        await queue.put(data)

    endpoint.take(body, send)
    try:
        while expected:
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    data = await queue.get()
            except TimeoutError:
                yield b": working\n\n"
                continue
            yield b"event: message\ndata: " + data + b"\n\n"
            expected -= b'"method"' not in data[:60]
    finally:
        endpoint.abandon(send)


async def _nowhere(data: bytes) -> None:
    """Without a lasting stream, what no request causes has no way to the client."""


def _error(
    status: int, code: int, message: str, id: int | str | None = None, data: object = None
) -> JSONResponse:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return JSONResponse({"jsonrpc": "2.0", "id": id, "error": error}, status)


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
