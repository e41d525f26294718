"""The proxy of a sandbox: HTTP CONNECT, plain http and SOCKS5 on one listening socket."""

import asyncio
import socket
from contextlib import suppress

from msgspec import Struct

from tau.backends.sandbox.network import socks
from tau.backends.sandbox.network.addresses import Connect, Lookup, Streams, connect_to, look_up
from tau.backends.sandbox.network.client_hello import HANDSHAKE_RECORD, read_client_hello
from tau.backends.sandbox.network.connection_decisions import (
    Ask,
    ConnectionPolicy,
    ConnectionRules,
    RecordedConnections,
)
from tau.backends.sandbox.network.decision_log import DecisionLog
from tau.backends.sandbox.network.host_rules import HostRules
from tau.backends.sandbox.network.http_head import (
    END_OF_HEAD,
    MAX_HEAD_BYTES,
    BadRequestError,
    RequestHead,
    WebRequest,
    parse_head,
    read_proxy_request,
    read_tunneled_request,
)
from tau.backends.sandbox.network.streams import exchange, splice
from tau.backends.sandbox.network.targets import RefusedTargetError, Target, parse_authority
from tau.base import log
from tau.base.tasks import spawn

BACKLOG = 128
_FIRST_BYTES = 4096


class ProxyLimits(Struct, frozen=True, kw_only=True):
    """`request_s` is how long a client may take to say what it wants."""

    connections: int = 256
    request_s: float = 30.0
    idle_s: float = 900.0


async def serve_proxy(
    listener: socket.socket,
    rules: HostRules,
    ask: Ask | None,
    *,
    decisions: DecisionLog | None = None,
    look_up: Lookup = look_up,
    connect: Connect = connect_to,
    limits: ProxyLimits | None = None,
) -> None:
    """Serve until cancelled. Closes the listener.

    `ask` answers for a host that is not listed, while its request waits.
    """
    async with asyncio.TaskGroup() as group:
        policy = ConnectionPolicy(group, rules, ask, look_up, connect)
        await _serve(listener, group, policy, decisions or DecisionLog(), limits or ProxyLimits())


async def serve_pages(listener: socket.socket, rules: ConnectionRules, decisions: DecisionLog) -> None:
    """The same for a browser, whose connections other rules decide about."""
    async with asyncio.TaskGroup() as group:
        await _serve(listener, group, rules, decisions, ProxyLimits())


async def _serve(
    listener: socket.socket,
    group: asyncio.TaskGroup,
    rules: ConnectionRules,
    decisions: DecisionLog,
    limits: ProxyLimits,
) -> None:
    proxy = _Proxy(group, RecordedConnections(rules, decisions), limits)
    server = await asyncio.start_server(proxy.accept, sock=listener, limit=MAX_HEAD_BYTES, backlog=BACKLOG)
    try:
        await server.serve_forever()
    finally:
        server.close()


class _Proxy:
    def __init__(
        self, group: asyncio.TaskGroup, connections: RecordedConnections, limits: ProxyLimits
    ) -> None:
        self._group = group
        self._connections = connections
        self._limits = limits
        self._open = 0

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= self._limits.connections:
            writer.write(_answer(503, "Too many connections"))
            writer.close()
            return
        self._open += 1
        spawn(self._group, self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Client((reader, writer), self._connections, self._limits).serve()
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass  # the client went away, or said nothing that makes sense
        except Exception as error:
            log.error("The sandbox's proxy failed.", error)
        finally:
            self._open -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Client:
    """One connection from inside the sandbox."""

    def __init__(self, streams: Streams, connections: RecordedConnections, limits: ProxyLimits) -> None:
        self._streams = streams
        self._reader, self._writer = streams
        self._connections = connections
        self._limits = limits

    async def serve(self) -> None:
        async with asyncio.timeout(self._limits.request_s):
            first = await self._reader.readexactly(1)
        if first[0] == socks.VERSION:
            await self._serve_socks()
        else:
            await self._serve_http(first)

    async def _serve_socks(self) -> None:
        try:
            async with asyncio.timeout(self._limits.request_s):
                target = await socks.read_socks_target(self._reader, self._writer)
        except RefusedTargetError as error:
            self._connections.block(None, str(error))
            self._writer.write(socks.socks_reply(socks.NOT_ALLOWED))
            return
        try:
            server = await self._connections.open(target)
        except RefusedTargetError:
            self._writer.write(socks.socks_reply(socks.NOT_ALLOWED))
            return
        except OSError:
            self._writer.write(socks.socks_reply(socks.UNREACHABLE))
            return
        self._writer.write(socks.socks_reply(socks.SUCCEEDED))
        await self._tunnel(server, target)

    async def _serve_http(self, first: bytes) -> None:
        target: Target | None = None
        try:
            head = await self._read_head(first)
            if head.method == "CONNECT":
                target = parse_authority(head.target, local=self._connections.has_local_names)
                server = await self._connections.open(target)
            else:
                request = read_proxy_request(head, local=self._connections.has_local_names)
                target = request.target
                server = await self._connections.open(target)
        except BadRequestError as error:
            self._writer.write(_answer(400, f"Bad request: {error}"))
        except RefusedTargetError as error:
            if target is None:
                self._connections.block(None, str(error))
            self._writer.write(_answer(403, f"Blocked by the sandbox: {error}"))
        except (OSError, EOFError) as error:
            if target is None:
                raise
            self._writer.write(_answer(502, f"Cannot connect: {error}"))
        else:
            if head.method == "CONNECT":
                self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._tunnel(server, target)
            else:
                await self._send(server, request)

    async def _read_head(self, first: bytes) -> RequestHead:
        async with asyncio.timeout(self._limits.request_s):
            return parse_head(first + await self._reader.readuntil(END_OF_HEAD))

    async def _send(self, server: Streams, request: WebRequest) -> None:
        try:
            server[1].write(request.head)
            await exchange(self._streams, server, request.body_bytes, self._limits.idle_s)
        finally:
            server[1].close()

    async def _tunnel(self, server: Streams, target: Target) -> None:
        """Let TLS for this host through, or one plain request to it; nothing else."""
        try:
            await self._writer.drain()
            if self._connections.is_raw(target):
                await splice(self._streams, server, self._limits.idle_s)
                return
            async with asyncio.timeout(self._limits.request_s):
                first = await self._reader.readexactly(1)
            if first[0] == HANDSHAKE_RECORD:
                server[1].write(await self._checked_hello(first, target))
                await splice(self._streams, server, self._limits.idle_s)
            else:
                await self._send(server, await self._tunneled_request(first, target))
        except RefusedTargetError as error:
            self._connections.block(target, str(error))
        finally:
            server[1].close()

    async def _checked_hello(self, data: bytes, target: Target) -> bytes:
        """Read until the server's name is known, and compare it."""
        async with asyncio.timeout(self._limits.request_s):
            while (hello := read_client_hello(data)) is None:
                more = await self._reader.read(_FIRST_BYTES)
                if not more:
                    raise EOFError
                data += more
        if hello.encrypted:
            raise RefusedTargetError("the TLS connection hides the name of its server")
        if target.is_address:
            if hello.server_name is not None:
                raise RefusedTargetError("the TLS connection names another server")
        elif hello.server_name is None:
            raise RefusedTargetError("the TLS connection does not name its server")
        elif hello.server_name.lower() != target.host:
            raise RefusedTargetError("the TLS connection names another server")
        return data

    async def _tunneled_request(self, first: bytes, target: Target) -> WebRequest:
        try:
            return read_tunneled_request(await self._read_head(first), target)
        except BadRequestError as error:
            self._writer.write(_answer(400, f"Bad request: {error}"))
            raise RefusedTargetError("neither TLS nor http is spoken in the tunnel") from None
        except RefusedTargetError as error:
            self._writer.write(_answer(403, f"Blocked by the sandbox: {error}"))
            raise


def _answer(status: int, reason: str) -> bytes:
    """An answer whose reason clients print: most show nothing but the status line."""
    body = f"{reason}.\n".encode()
    return (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\nProxy-Connection: close\r\n\r\n"
    ).encode() + body
