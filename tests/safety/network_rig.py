"""A proxy on loopback whose names, addresses and servers are made up by the test."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from tau.backends.sandbox.network.addresses import Streams
from tau.backends.sandbox.network.decision_log import DecisionLog
from tau.backends.sandbox.network.host_rules import HostRules
from tau.backends.sandbox.network.proxy import ProxyLimits, serve_proxy
from tau.base.tasks import spawn
from tests.support.limits import HANG_S

PUBLIC = "93.184.215.14"
OTHER_PUBLIC = "93.184.215.99"
NAMES: Mapping[str, Sequence[str]] = {
    "good.example": [PUBLIC],
    "six.example": ["2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
    "a.wild.example": [PUBLIC],
}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes"
WAIT_S = HANG_S


def listening() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.setblocking(False)
    return listener


class Origin:
    """The server that every address leads to: it keeps what it receives and answers each request."""

    def __init__(self, answer: bytes = ANSWER) -> None:
        self.answer = answer
        self.answers_after = 0
        self.received: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            size = 0
            while data := await reader.read(65536):
                self.received.append(data)
                size += len(data)
                if size > self.answers_after and not data.startswith(b"\x16"):
                    writer.write(self.answer)
                    await writer.drain()
                    if b"Connection: close" in self.answer:
                        break
        except ConnectionError:
            pass
        finally:
            writer.close()


class ProxyRig:
    """`lookups`, `connections` and `questions` are what the proxy did."""

    def __init__(
        self,
        *,
        hosts: Sequence[str] = ("good.example", "*.wild.example", "six.example"),
        names: Mapping[str, Sequence[str]] = NAMES,
        answers: Callable[[str, int], bool] | None = None,
        limits: ProxyLimits | None = None,
        servers: Mapping[int, int] | None = None,
    ) -> None:
        self.rules = HostRules.of(hosts)
        self.names = dict(names)
        self.answers = answers
        self.limits = limits or ProxyLimits()
        self.origin = Origin()
        self.decisions = DecisionLog()
        self.lookups: list[str] = []
        self.connections: list[tuple[str, int]] = []
        self.questions: list[tuple[str, int]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.servers = dict(servers or {})
        self.port = 0

    async def ask(self, host: str, port: int) -> bool:
        self.questions.append((host, port))
        await self.may_answer.wait()
        assert self.answers is not None
        return self.answers(host, port)

    async def look_up(self, host: str) -> Sequence[str]:
        self.lookups.append(host)
        return self.names.get(host, [])

    async def connect(self, address: str, port: int) -> Streams:
        self.connections.append((address, port))
        return await asyncio.open_connection("127.0.0.1", self.servers.get(port, self.origin.port))

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ProxyRig"]:
        server = await asyncio.start_server(self.origin.serve, "127.0.0.1", 0)
        self.origin.port = server.sockets[0].getsockname()[1]
        listener = listening()
        self.port = listener.getsockname()[1]
        async with server, asyncio.TaskGroup() as group:
            serving = spawn(
                group,
                serve_proxy(
                    listener,
                    self.rules,
                    self.ask if self.answers is not None else None,
                    decisions=self.decisions,
                    look_up=self.look_up,
                    connect=self.connect,
                    limits=self.limits,
                ),
            )
            try:
                yield self
            finally:
                serving.cancel()

    async def send(self, *parts: bytes) -> bytes:
        """Send each part after something came back for the last one; all that comes back until the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        got = b""
        try:
            async with asyncio.timeout(WAIT_S):
                for part in parts[:-1]:
                    writer.write(part)
                    got += await reader.read(65536)
                writer.write(parts[-1])
                writer.write_eof()
                while data := await reader.read(65536):
                    got += data
        except OSError:
            pass  # it was closed already
        finally:
            writer.close()
        return got

    @property
    def blocked(self) -> list[tuple[str, int, str]]:
        return [
            (decision.host, decision.port, decision.reason)
            for decision in self.decisions.since(0)
            if decision.verdict == "blocked"
        ]


def connect_head(authority: bytes) -> bytes:
    return b"CONNECT " + authority + b" HTTP/1.1\r\nHost: " + authority + b"\r\n\r\n"


def get(url: bytes, host: bytes | None = None, more: bytes = b"") -> bytes:
    authority = url.split(b"/")[2] if host is None else host
    return b"GET " + url + b" HTTP/1.1\r\nHost: " + authority + b"\r\n" + more + b"\r\n"


def socks_parts(host: bytes, port: int, kind: int = 3) -> tuple[bytes, bytes]:
    length = bytes((len(host),)) if kind == 3 else b""
    return b"\x05\x01\x00", b"\x05\x01\x00" + bytes((kind,)) + length + host + struct.pack(">H", port)


def client_hello(name: str | None, *, alpn: Sequence[str] = ()) -> bytes:
    """The first message of a real TLS client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without loading certificates: nobody answers
    context.check_hostname = False
    if alpn:
        context.set_alpn_protocols(list(alpn))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def with_extension(hello: bytes, kind: int, body: bytes) -> bytes:
    """The same message with one more extension at its end."""
    extra = struct.pack(">HH", kind, len(body)) + body
    message = bytearray(hello[5:])
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + int.from_bytes(message[at : at + 2])
    at += 1 + message[at]
    message[at : at + 2] = (int.from_bytes(message[at : at + 2]) + len(extra)).to_bytes(2)
    message += extra
    message[1:4] = (len(message) - 4).to_bytes(3)
    return hello[:3] + len(message).to_bytes(2) + bytes(message)
