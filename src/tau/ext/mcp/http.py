"""Carries MCP messages over HTTP: the streamable transport, and the older one with a lasting stream."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol
from urllib.parse import urljoin

from msgspec import UNSET, DecodeError, Struct

from tau.ai.http_connect import ConnectFailed
from tau.ai.proxy import parse_url
from tau.ai.sse import Splitter
from tau.ai.transport import Response, Timeouts, Transport
from tau.base import log
from tau.base.errors import ProviderError
from tau.base.json_rpc import JsonRpcError, RpcCall, decode_messages
from tau.base.sizes import format_bytes
from tau.base.tasks import shielded, spawn
from tau.base.text import clean_line, shortened
from tau.ext.mcp.client import McpClient, McpTransport
from tau.ext.mcp.config import McpServer, ServerEntry
from tau.ext.mcp.messages import ConnectionLost, McpError, NotStreamable, ServerInfo
from tau.ext.mcp.stdio import MAX_MESSAGE_BYTES

TIMEOUTS = Timeouts(connect=15, first_byte=86_400, idle=86_400)  # each call has its own limit
NOTIFY_TIMEOUTS = Timeouts(connect=10, first_byte=30, idle=30)
RETRY_S, MAX_RETRY_S = 1.0, 300.0
MAX_RESUMES = 5  # in a row without an event
CLOSE_S = 2.0
MAX_REDIRECTS = 3
TOO_LARGE = f"It sent a message of more than {format_bytes(MAX_MESSAGE_BYTES)}."
REFUSED = {
    403: "It does not allow this",
    404: "There is nothing at this address",
    429: "It gets too many requests",
}


class Authorizer(Protocol):
    """Logs in when a server asks for it. `challenge` is its WWW-Authenticate header."""

    async def header(self) -> str | None: ...
    async def refused(self, status: int, challenge: str, used: str | None) -> bool:
        """Whether the same request may succeed now. Raises McpError with `needs_login`."""
        ...


class SseEvent(Struct, frozen=True):
    name: str
    data: bytes
    id: str | None = None
    retry_s: float | None = None


def parse_event(block: bytes) -> SseEvent:
    """Unlike models' servers, these use ids and retry times."""
    name, id, retry = "message", None, None
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                data.append(value)
            case b"event":
                name = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                id = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit() and len(value) < 10:
                retry = min(int(value) / 1000, MAX_RETRY_S)
    return SseEvent(name, b"\n".join(data), id, retry)


async def read_stream(response: Response) -> AsyncIterator[SseEvent]:
    splitter = Splitter()
    async for chunk in response.chunks():
        for block in splitter.feed_blocks(chunk):
            if block.strip():
                yield parse_event(block)


class _Link:
    """The requests to one server: its headers, its login, its redirects."""

    def __init__(self, server: McpServer, http: Transport, login: Authorizer | None) -> None:
        self.url = server.url
        self._headers = server.headers
        self._http, self._login = http, login
        self.own: dict[str, str] = {}  # the session and the revision

    @asynccontextmanager
    async def open(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeouts: Timeouts = TIMEOUTS,
        url: str = "",
    ) -> AsyncIterator[Response]:
        """A response, after a login if that is what it takes. Raises McpError, ProviderError."""
        target = url or self.url
        for attempt in range(MAX_REDIRECTS):
            used = None if self._login is None else await self._login.header()
            given = {
                **self._headers,
                **({} if used is None else {"authorization": used}),
                **self.own,
                **headers,
            }
            async with self._http.open(
                method, target, headers=given, body=body, timeouts=timeouts
            ) as response:
                if response.status in (307, 308) and (moved := response.headers.get("location")):
                    target = self._redirected(target, moved)
                    continue
                if response.status in (401, 403) and self._login is not None:
                    challenge = response.headers.get("www-authenticate", "")
                    if (
                        await self._login.refused(response.status, challenge, used)
                        and attempt + 1 < MAX_REDIRECTS
                    ):
                        continue
                yield response
                return
        raise McpError("It redirects or asks for a login again and again.", final=True)

    def _redirected(self, url: str, location: str) -> str:
        """A redirect must not take what we send to another origin."""
        target = urljoin(url, location)
        before, after = parse_url(url), parse_url(target)
        if (before.scheme, before.peer) != (after.scheme, after.peer):
            raise McpError(
                f"It redirects to {after.peer}, another server; use that URL if it is right.", final=True
            )
        return target


class StreamableTransport:
    """Implements `McpTransport` over streamable HTTP."""

    def __init__(self, link: _Link, client: McpClient, group: asyncio.TaskGroup) -> None:
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.expired = False
        self._link, self._peer, self._group = link, client.peer, group
        self._name = client.name
        self._session = ""
        self._listening: asyncio.Task[None] | None = None
        self._modern = False

    def settle(self, info: ServerInfo) -> None:
        self._modern = info.is_modern
        self._link.own["mcp-protocol-version"] = info.version
        if not info.is_modern and self._listening is None:
            self._listening = spawn(self._group, self._listen())

    async def exchange(self, call: RpcCall, headers: Mapping[str, str]) -> None:
        accepts = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        try:
            async with self._link.open("POST", {**accepts, **headers}, call.data) as response:
                self._check(response, call)
                if response.status != 200:
                    await self._take_refusal(response, call)
                    return
                session = response.headers.get("mcp-session-id", "")
                if call.method == "initialize" and session and session.isascii() and session.isprintable():
                    self._session = self._link.own["mcp-session-id"] = session
                last, retry_s = await self._take(response, call)
        except ProviderError as error:
            self._end(error, sent=not isinstance(error, ConnectFailed))
        else:
            if not call.answer.done():
                await self._resume(call, last, retry_s)

    async def _take(self, response: Response, call: RpcCall) -> tuple[str | None, float]:
        """Read an answer of either form; returns the last event's id and the time before a retry."""
        last, retry_s = None, RETRY_S
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            body = await response.read(MAX_MESSAGE_BYTES + 1)
            if len(body) > MAX_MESSAGE_BYTES:
                call.fail(JsonRpcError(-32603, TOO_LARGE))
            elif kind == "application/json" or body.lstrip()[:1] in (b"{", b"["):
                self._peer.take(body)
            if not call.answer.done():
                call.fail(McpError(f"It answered {kind or 'nothing'}, not with MCP."))
            return None, retry_s
        try:
            async for event in read_stream(response):
                last = last if event.id is None else event.id
                retry_s = retry_s if event.retry_s is None else event.retry_s
                if event.name == "message" and event.data:
                    self._peer.take(event.data)
                if call.answer.done():
                    break
        except ProviderError as error:
            if "an event of more than" in str(error):
                call.fail(JsonRpcError(-32603, TOO_LARGE))
            elif last is None:
                raise
        return last, retry_s

    async def _resume(self, call: RpcCall, last: str | None, retry_s: float) -> None:
        """The stream ended before the answer: ask for the rest of it."""
        failures = 0
        while not call.answer.done():
            if last is None or failures >= MAX_RESUMES:
                raise ConnectionLost("Its stream ended before the answer.")
            await asyncio.sleep(retry_s)
            headers = {"accept": "text/event-stream", "last-event-id": last}
            try:
                async with self._link.open("GET", headers) as response:
                    self._check(response, call)
                    if response.status != 200:
                        failures = MAX_RESUMES
                        continue
                    newest, retry_s = await self._take(response, call)
                    failures = 0 if newest not in (None, last) else failures + 1
                    last = newest or last
            except ProviderError:
                failures += 1

    def _check(self, response: Response, call: RpcCall | None) -> None:
        """A session that the server has forgotten; it cannot have run the call."""
        if response.status == 404 and self._session and (call is None or call.method != "initialize"):
            self.expired = True
            self._session = ""
            self._finish("The server ended the session.")
            raise ConnectionLost("The server ended the session.", sent=False)
        if response.status in (502, 503, 504) and call is not None:
            raise ConnectionLost(f"It answered {response.status}.", sent=response.status != 503)

    async def _take_refusal(self, response: Response, call: RpcCall) -> None:
        body = await response.read(65_536)
        with suppress(DecodeError):
            for message in decode_messages(body):
                if message.error is not UNSET:
                    fault = message.error
                    call.fail(JsonRpcError(fault.code, fault.message, fault.data))
                    return
        if response.status in (404, 405) and call.method == "initialize":
            raise NotStreamable(f"It answered {response.status}.")
        if response.status in (400, 404, 405) and call.method == "server/discover":
            call.fail(JsonRpcError(-32601, "Not found."))
            return
        text = shortened(clean_line(re.sub(r"<[^>]*>", " ", body.decode("utf-8", "replace"))), 200)
        reason = REFUSED.get(response.status) or text or "no reason given"
        wait = response.headers.get("retry-after", "")
        more = f" Try again in {wait} s." if wait.isdigit() and len(wait) < 6 else ""
        raise McpError(f"It answered {response.status}: {reason}.{more}")

    async def notify(self, data: bytes) -> None:
        if self._modern and b'"notifications/' in data[:200]:
            return  # closing a stream says it
        accepts = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        try:
            async with self._link.open("POST", accepts, data, NOTIFY_TIMEOUTS) as response:
                self._check(response, None)
                await response.read(4096)
        except ProviderError as error:
            raise ConnectionLost(str(error)) from None

    def _end(self, error: ProviderError, *, sent: bool) -> None:
        """The server is gone, as far as we know."""
        self._finish(str(error))
        raise ConnectionLost(str(error), sent=sent)

    def _finish(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)

    async def _listen(self) -> None:
        """What the server says without being asked; not all servers have a stream for it."""
        last, retry_s, failures = "", RETRY_S, 0
        while failures < MAX_RESUMES:
            headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
            try:
                async with self._link.open("GET", headers) as response:
                    if response.status == 404 and self._session:
                        self._check(response, None)
                    if response.status != 200:
                        return
                    async for event in read_stream(response):
                        failures = 0
                        last = last if event.id is None else event.id
                        retry_s = retry_s if event.retry_s is None else event.retry_s
                        if event.name == "message" and event.data:
                            self._peer.take(event.data)
                failures += 1
            except ConnectionLost:
                return
            except (ProviderError, McpError) as error:
                log.debug(f"The stream of the MCP server {self._name} ended.", error)
                failures += 1
            await asyncio.sleep(min(retry_s * 2 ** max(0, failures - 1), MAX_RETRY_S))

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        self._finish("The connection was closed.")
        if self._session:
            with suppress(ProviderError, McpError, TimeoutError):
                async with (
                    asyncio.timeout(CLOSE_S),
                    self._link.open("DELETE", {}, timeouts=NOTIFY_TIMEOUTS) as end,
                ):
                    await end.read(4096)


class SseTransport:
    """Implements `McpTransport` over the transport of 2024-11-05: one stream for all answers."""

    def __init__(self, link: _Link, client: McpClient) -> None:
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.expired = False
        self.endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._link, self._peer = link, client.peer

    def settle(self, info: ServerInfo) -> None:
        self._link.own["mcp-protocol-version"] = info.version

    async def exchange(self, call: RpcCall, headers: Mapping[str, str]) -> None:
        await self.notify(call.data)
        await asyncio.wait((call.answer, self.lost), return_when=asyncio.FIRST_COMPLETED)
        if not call.answer.done():
            raise ConnectionLost(self.lost.result())

    async def notify(self, data: bytes) -> None:
        if self.lost.done():
            raise ConnectionLost(self.lost.result(), sent=False)
        url = await asyncio.shield(self.endpoint)
        try:
            kind = {"content-type": "application/json"}
            async with self._link.open("POST", kind, data, NOTIFY_TIMEOUTS, url) as response:
                if response.status >= 400:
                    raise McpError(f"It answered {response.status}.")
                await response.read(4096)
        except ProviderError as error:
            raise ConnectionLost(str(error), sent=not isinstance(error, ConnectFailed)) from None

    async def read(self) -> None:
        reason = "Its stream ended."
        try:
            async with self._link.open("GET", {"accept": "text/event-stream"}) as response:
                if response.status != 200:
                    raise McpError(f"It answered {response.status}.")
                async for event in read_stream(response):
                    if event.name == "endpoint" and not self.endpoint.done():
                        self.endpoint.set_result(self._same_origin(event.data.decode("utf-8", "replace")))
                    elif event.name == "message" and event.data:
                        self._peer.take(event.data)
        except McpError as error:
            reason = str(error)
            if not self.endpoint.done():
                self.endpoint.set_exception(error)
        except ProviderError as error:
            reason = str(error)
        if not self.endpoint.done():
            self.endpoint.set_exception(ConnectionLost(reason))
        if not self.lost.done():
            self.lost.set_result(reason)

    def _same_origin(self, path: str) -> str:
        url = urljoin(self._link.url, path.strip())
        ours, theirs = parse_url(self._link.url), parse_url(url)
        if (ours.scheme, ours.peer) != (theirs.scheme, theirs.peer):
            raise McpError(f"It names an address on {theirs.peer}, another server.", final=True)
        return url


@asynccontextmanager
async def open_http(
    entry: ServerEntry,
    server: McpServer,
    client: McpClient,
    http: Transport,
    group: asyncio.TaskGroup,
    login: Authorizer | None = None,
) -> AsyncIterator[McpTransport]:
    """Raises McpError."""
    if server.type == "sse":
        async with _open_sse(server, client, http, group, login) as old:
            yield old
        return
    transport = StreamableTransport(_Link(server, http, login), client, group)
    try:
        yield transport
    finally:
        await shielded(transport.close())


@asynccontextmanager
async def _open_sse(
    server: McpServer, client: McpClient, http: Transport, group: asyncio.TaskGroup, login: Authorizer | None
) -> AsyncIterator[SseTransport]:
    transport = SseTransport(_Link(server, http, login), client)
    reading = spawn(group, transport.read())
    try:
        await asyncio.shield(transport.endpoint)
        yield transport
    finally:
        reading.cancel()
        await asyncio.wait((reading,))
        if not transport.endpoint.done():
            transport.endpoint.cancel()
