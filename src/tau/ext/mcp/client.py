"""One live connection to a server: the handshake, requests with progress and cancellation, lists."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from msgspec import Raw, Struct

from tau.base import log
from tau.base.errors import TauError
from tau.base.json_rpc import (
    INTERNAL_ERROR,
    JsonRpcError,
    RpcCall,
    RpcFault,
    RpcId,
    RpcPeer,
    encode_answer,
    encode_message,
)
from tau.base.tasks import shielded, spawn
from tau.base.version import VERSION
from tau.ext.mcp.messages import (
    HANDSHAKE_VERSIONS,
    META,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
    ConnectionLost,
    McpError,
    ServerInfo,
    dict_at,
    list_at,
    read_object,
    text_at,
)
from tau.ext.mcp.param_headers import header_value

CLIENT_INFO = {"name": "tau", "title": "tau", "version": VERSION}
DISCOVER_TIMEOUT_S = 5.0
CANCEL_S = 1.0
MAX_PAGES = 200
MAX_ITEMS = 10_000
MAX_INPUT_ROUNDS = 10
MAX_GARBAGE = 20  # lines to log of what is not JSON-RPC
MAX_SERVED = 16  # requests of a server at a time
INSTRUCTIONS_CHARS = 20_000
BIG_BYTES = 256 * 1024  # decoded in a thread

Progress = Callable[[float, float | None, str], None]


class McpTransport(Protocol):
    """Carries messages. `exchange` sends a call and returns when its answer is there.

    Raises ConnectionLost; `lost` ends with the reason when the connection does.
    """

    @property
    def lost(self) -> asyncio.Future[str]: ...
    @property
    def expired(self) -> bool:
        """Whether the server ended the session itself, so that a new one works at once."""
        ...

    async def exchange(self, call: RpcCall, headers: Mapping[str, str]) -> None: ...
    async def notify(self, data: bytes) -> None: ...
    def settle(self, info: ServerInfo) -> None:
        """The handshake is done: say which revision is spoken, and listen."""
        ...


class ServerRequests(Protocol):
    """What a server may ask of us, and tell us."""

    def capabilities(self) -> dict[str, Any]: ...
    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Raises JsonRpcError."""
        ...

    def notice(self, method: str, params: dict[str, Any]) -> None: ...


class _Waiting(Struct):
    """A request that is waiting for its answer."""

    method: str
    progress: Progress | None = None
    extend: Callable[[], None] = lambda: None


class McpClient:
    """Speaks with one server over a transport. Tasks belong to `group`."""

    def __init__(
        self, name: str, requests: ServerRequests, group: asyncio.TaskGroup, timeout_s: float | None = 60
    ) -> None:
        self.name = name
        self.peer = RpcPeer(self._on_request, self._on_notification, self._on_garbage)
        self.info = ServerInfo(HANDSHAKE_VERSIONS[0])
        self.transport: McpTransport | None = None
        self._requests = requests
        self._group = group
        self._timeout_s = timeout_s
        self._waiting: dict[int, _Waiting] = {}
        self._serving: dict[RpcId, asyncio.Task[None]] = {}
        self._garbage = 0
        self.param_headers: Callable[[str, Mapping[str, Any]], dict[str, str]] = lambda name, arguments: {}

    @property
    def serving(self) -> list[asyncio.Task[None]]:
        """What the server asks, as long as it is being answered."""
        return list(self._serving.values())

    async def connect(self, transport: McpTransport, *, modern: str) -> ServerInfo:
        """`modern`: "try" the newest revision first, "only" that one, or "no"."""
        self.transport = transport
        info = None
        if modern != "no":
            info = await self._discover()
        if info is None:
            info = await self._initialize()
        self.info = info
        transport.settle(info)
        if not info.is_modern:
            await self.notify("notifications/initialized")
        return info

    async def _discover(self) -> ServerInfo | None:
        """None if the server does not know `server/discover`. Raises McpError."""
        version = MODERN_VERSIONS[0]
        for is_last in (False, True):
            self.info = ServerInfo(version)
            try:
                raw = await self._send("server/discover", {}, timeout_s=DISCOVER_TIMEOUT_S)
                break
            except JsonRpcError as error:
                supported = error.data.get("supported") if isinstance(error.data, dict) else None
                names = supported if isinstance(supported, list) else []
                if error.code != UNSUPPORTED_VERSION or any(name in HANDSHAKE_VERSIONS for name in names):
                    return None
                mutual = next((one for one in MODERN_VERSIONS if one in names), None)
                if names and (mutual is None or is_last):
                    shown = ", ".join(map(str, names[:5]))
                    raise McpError(f"It speaks only {shown}, which tau does not.", final=True) from None
                if mutual is None:
                    return None
                version = mutual
            except McpError as error:
                if error.needs_login or isinstance(error, ConnectionLost):
                    raise
                return None  # it did not answer in time
        fields = read_object(raw)
        if version not in (fields.get("supportedVersions") or ()):
            return None
        about = dict_at(dict_at(fields, "_meta"), f"{META}serverInfo") or dict_at(fields, "serverInfo")
        return _info(version, fields, about)

    async def _initialize(self) -> ServerInfo:
        self.info = ServerInfo(HANDSHAKE_VERSIONS[0])
        params = {
            "protocolVersion": HANDSHAKE_VERSIONS[0],
            "capabilities": self._requests.capabilities(),
            "clientInfo": CLIENT_INFO,
        }
        try:
            fields = read_object(await self._send("initialize", params, timeout_s=self._timeout_s))
        except JsonRpcError as error:
            raise McpError(f"It refused the connection: {error}") from None
        version = text_at(fields, "protocolVersion", 40)
        if version not in HANDSHAKE_VERSIONS:
            raise McpError(
                f'It speaks the revision "{version}", which tau does not know; update one of them.',
                final=True,
            )
        return _info(version, fields, dict_at(fields, "serverInfo"))

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        progress: Progress | None = None,
        asks: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None,
    ) -> dict[str, Any]:
        """The result, after what the server needs to know for it. Raises JsonRpcError, McpError."""
        given = dict(params or {})
        for _ in range(MAX_INPUT_ROUNDS):
            limit = self._timeout_s if timeout_s is None else timeout_s
            raw = await self._send(method, given, timeout_s=limit or None, progress=progress)
            result = await asyncio.to_thread(read_object, raw) if len(raw) > BIG_BYTES else read_object(raw)
            if not self.info.is_modern or result.get("resultType") not in ("input_required", "inputRequired"):
                return result
            given = dict(params or {})
            wanted = dict_at(result, "inputRequests")
            if wanted:
                given["inputResponses"] = await self._collect(wanted, asks or self._requests.answer)
            else:
                await asyncio.sleep(0.1)
            if isinstance(state := result.get("requestState"), str):
                given["requestState"] = state
        raise JsonRpcError(INTERNAL_ERROR, f"{self.name} asked for more input {MAX_INPUT_ROUNDS} times.")

    async def _collect(
        self, wanted: dict[str, Any], asks: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        answers = {}
        for key, ask in list(wanted.items())[:MAX_SERVED]:
            fields = ask if isinstance(ask, dict) else {}
            answers[key] = await asks(text_at(fields, "method", 100), dict_at(fields, "params"))
        return answers

    async def _send(
        self,
        method: str,
        params: dict[str, Any],
        *,
        timeout_s: float | None,
        progress: Progress | None = None,
    ) -> Raw:
        assert self.transport is not None
        id = self.peer.next_id()
        meta = dict(dict_at(params, "_meta"))
        headers: dict[str, str] = {}
        if self.info.is_modern:
            meta |= {
                f"{META}protocolVersion": self.info.version,
                f"{META}clientInfo": CLIENT_INFO,
                f"{META}clientCapabilities": self._requests.capabilities(),
            }
            headers = self._modern_headers(method, params)
        if progress is not None:
            meta["progressToken"] = id
        call = self.peer.begin(method, {**params, "_meta": meta} if meta else params, id)
        loop = asyncio.get_running_loop()
        waiting = self._waiting[id] = _Waiting(method, progress)
        try:
            async with asyncio.timeout(timeout_s) as limit:
                if timeout_s is not None:
                    waiting.extend = lambda: limit.reschedule(loop.time() + timeout_s)
                await self.transport.exchange(call, headers)
                return call.answer.result()
        except TimeoutError:
            await self._cancel(call, "timeout")
            raise McpError(f"{self.name} did not answer {method} within {timeout_s:g} s.") from None
        except asyncio.CancelledError:
            await shielded(self._cancel(call, "The user interrupted."))
            raise
        finally:
            self.peer.end(call)
            del self._waiting[id]

    def _modern_headers(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        headers = {"mcp-protocol-version": self.info.version, "mcp-method": method}
        key = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
        if key is not None and (name := text_at(params, key)):
            headers["mcp-name"] = header_value(name)
        if method == "tools/call":
            headers |= self.param_headers(text_at(params, "name"), dict_at(params, "arguments"))
        return headers

    async def _cancel(self, call: RpcCall, reason: str) -> None:
        """Tell the server; over HTTP of the newest revision, closing the stream has said it."""
        if call.answer.done() or call.method in ("initialize", "server/discover"):
            return
        with suppress(TauError, TimeoutError, OSError):
            async with asyncio.timeout(CANCEL_S):
                await self.notify("notifications/cancelled", {"requestId": call.id, "reason": reason})

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        assert self.transport is not None
        await self.transport.notify(encode_message(method, params))

    async def list_all(self, kind: str, *, limit: int = MAX_ITEMS) -> list[dict[str, Any]]:
        """All pages of `tools`, `prompts`, `resources` or their templates. Raises JsonRpcError, McpError."""
        found: list[dict[str, Any]] = []
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        name = "resourceTemplates" if kind == "resources/templates" else kind
        for _ in range(MAX_PAGES):
            page = await self.request(f"{kind}/list", params)
            found += list_at(page, name)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in cursors:
                return found[:limit]
            if len(found) >= limit:
                log.warning(
                    f"The MCP server {self.name} lists more than {limit:,} {name}; the rest is left out."
                )
                return found[:limit]
            cursors.add(cursor)
            params = {"cursor": cursor}
        log.warning(f"The MCP server {self.name} lists its {name} on more than {MAX_PAGES} pages.")
        return found

    def _on_request(self, id: RpcId, method: str, params: Raw) -> None:
        if len(self._serving) >= MAX_SERVED or id in self._serving:
            self._on_garbage(f"more than {MAX_SERVED} requests at a time")
            return
        self._serving[id] = spawn(self._group, self._serve(id, method, read_object(params)))

    async def _serve(self, id: RpcId, method: str, params: dict[str, Any]) -> None:
        try:
            if method == "ping":
                answer = encode_answer(id, {})
            else:
                for waiting in self._waiting.values():
                    waiting.extend()
                answer = encode_answer(id, await self._requests.answer(method, params))
        except JsonRpcError as error:
            answer = encode_answer(id, error=RpcFault(error.code, str(error), error.data))
        except TauError as error:
            answer = encode_answer(id, error=RpcFault(INTERNAL_ERROR, str(error)))
        except Exception as error:
            log.error(f"A request of the MCP server {self.name} failed.", error)
            answer = encode_answer(id, error=RpcFault(INTERNAL_ERROR, "It failed."))
        finally:
            self._serving.pop(id, None)
        for waiting in self._waiting.values():  # the time that a person took is not the server's
            waiting.extend()
        await self._reply(answer)

    async def _reply(self, answer: bytes) -> None:
        assert self.transport is not None
        with suppress(TauError, OSError):
            await self.transport.notify(answer)

    def _on_notification(self, method: str, params: Raw) -> None:
        if len(params) > BIG_BYTES:
            return
        fields = read_object(params)
        match method:
            case "notifications/progress":
                waiting = self._waiting.get(_token(fields.get("progressToken")))
                if waiting is not None and waiting.progress is not None:
                    waiting.extend()
                    done, total = fields.get("progress"), fields.get("total")
                    waiting.progress(
                        float(done) if isinstance(done, int | float) else 0.0,
                        float(total) if isinstance(total, int | float) else None,
                        text_at(fields, "message", 500),
                    )
            case "notifications/cancelled":
                id = fields.get("requestId")
                task = self._serving.get(id) if isinstance(id, int | str) else None
                if task is not None:
                    task.cancel()
            case _:
                self._requests.notice(method, fields)

    def _on_garbage(self, what: str) -> None:
        self._garbage += 1
        if self._garbage <= MAX_GARBAGE:
            log.warning(f"The MCP server {self.name} sent what is not MCP: {what}.")


def _token(value: object) -> int:
    return (
        value if isinstance(value, int) else int(value) if isinstance(value, str) and value.isdigit() else -1
    )


def _info(version: str, fields: Mapping[str, Any], about: Mapping[str, Any]) -> ServerInfo:
    return ServerInfo(
        version,
        text_at(about, "title", 100) or text_at(about, "name", 100),
        text_at(about, "version", 60),
        text_at(fields, "instructions", INSTRUCTIONS_CHARS),
        dict_at(fields, "capabilities"),
    )
