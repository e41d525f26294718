"""Calls of our MCP server; those of the revision 2026-07-28 need no session and ask in their results."""

import asyncio
from base64 import b64decode
from binascii import Error
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from secrets import token_hex
from typing import Any

from msgspec import Struct

from tau.base.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcError
from tau.base.tasks import spawn
from tau.base.version import VERSION
from tau.ext.mcp.messages import HEADER_MISMATCH, META, MODERN_VERSIONS, UNSUPPORTED_VERSION, dict_at, text_at

MAX_PAUSED = 32
LISTS = {f"{kind}/list" for kind in ("tools", "prompts", "resources", "resources/templates")}
CACHEABLE = LISTS | {"server/discover", "resources/read"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
METHODS = CACHEABLE | NAMED.keys() | {"completion/complete"}
SERVER_INFO = {"name": "tau", "title": "tau", "version": VERSION}
Send = Callable[[bytes], Awaitable[None]]
Work = Callable[[], Awaitable[dict[str, Any]]]


class PausedCall(Struct, eq=False):
    """The work of a stateless call: one request starts it and ends with a question, the next one answers."""

    request: tuple[str, Any]  # method and parameters, which the next request repeats
    can_ask: bool
    result: asyncio.Future[dict[str, Any]]
    work: asyncio.Task[None] | None = None
    question: asyncio.Future[dict[str, Any]] | None = None
    answer: asyncio.Future[Any] | None = None

    async def run(self, work: Work) -> None:
        try:
            self.result.set_result(await work())
        except Exception as error:
            self.result.set_exception(error)
            self.result.exception()  # it may be that nobody waits any more
        finally:
            self.result.cancel()

    async def ask(self, params: dict[str, Any], seconds: float) -> Any:
        """End the request with a question; None without an answer."""
        if not self.can_ask or self.question is None or self.question.done():
            return None
        self.answer = asyncio.get_running_loop().create_future()
        self.question.set_result(params)
        try:
            async with asyncio.timeout(seconds):
                return answer_in(await self.answer)
        except TimeoutError:
            return None


class ServedCall(Struct, eq=False):
    """A call that is running: where what it causes is sent, and its token for progress."""

    send: Send
    token: int | str | None = None
    task: asyncio.Task[None] | None = None
    steps: int = 0
    paused: PausedCall | None = None  # of the revision that asks in results

    def cancel(self) -> None:
        for task in (self.task, self.paused.work if self.paused else None):
            if task is not None:
                task.cancel()


CURRENT_CALL: ContextVar[ServedCall | None] = ContextVar("call", default=None)


class StatelessCalls:
    """Calls of clients without a session; tasks belong to `tasks`."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._paused: dict[str, ServedCall] = {}  # by the state that the client sends back

    def close(self) -> None:
        for call in self._paused.values():
            call.cancel()

    async def serve(
        self, call: ServedCall, method: str, params: dict[str, Any], work: Work
    ) -> dict[str, Any]:
        """The result, or what the user has to answer first. Raises JsonRpcError."""
        check_request(method, params)
        request = method, {name: value for name, value in params.items() if name in ("name", "arguments")}
        if state := text_at(params, "requestState", 200):
            first = self._paused.get(state)
            if first is None or (paused := first.paused) is None or paused.request != request:
                raise JsonRpcError(INVALID_PARAMS, "The requestState belongs to no such request.")
            del self._paused[state]
            first.send, call.paused = call.send, paused
            if paused.answer is not None and not paused.answer.done():
                paused.answer.set_result(dict_at(dict_at(params, "inputResponses"), "answer"))
        else:
            capabilities = dict_at(dict_at(params, "_meta"), f"{META}clientCapabilities")
            result = asyncio.get_running_loop().create_future()
            first, paused = call, PausedCall(request, "elicitation" in capabilities, result)
            call.paused = paused
            paused.work = spawn(self._tasks, paused.run(work))
        paused.question = asyncio.get_running_loop().create_future()
        await asyncio.wait((paused.result, paused.question), return_when=asyncio.FIRST_COMPLETED)
        if paused.result.done():
            return complete(method, paused.result.result())
        while len(self._paused) >= MAX_PAUSED:
            self._paused.pop(next(iter(self._paused))).cancel()
        self._paused[state := token_hex(16)] = first
        asked = {"method": "elicitation/create", "params": {"mode": "form", **paused.question.result()}}
        return {"resultType": "input_required", "inputRequests": {"answer": asked}, "requestState": state}


def answer_in(result: dict[str, Any]) -> Any:
    """What the user answered; None if they declined."""
    return dict_at(result, "content").get("answer") if result.get("action") == "accept" else None


def is_stateless(method: str, params: Mapping[str, Any]) -> bool:
    return method == "server/discover" or f"{META}protocolVersion" in dict_at(params, "_meta")


def check_request(method: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
    """Raises JsonRpcError."""
    meta = dict_at(params, "_meta")
    for key in ("protocolVersion", "clientCapabilities"):
        if f"{META}{key}" not in meta:
            raise JsonRpcError(INVALID_PARAMS, f"_meta lacks {META}{key}.")
    if headers is not None:
        _check_headers(headers, method, params)
    version = text_at(meta, f"{META}protocolVersion", 40)
    if version not in MODERN_VERSIONS:
        data = {"supported": MODERN_VERSIONS, "requested": version}
        raise JsonRpcError(UNSUPPORTED_VERSION, f'The revision "{version}" is not supported.', data)
    if method not in METHODS:
        raise JsonRpcError(METHOD_NOT_FOUND, f"Unknown method {method}.")


def _check_headers(headers: Mapping[str, str], method: str, params: Mapping[str, Any]) -> None:
    """Headers repeat what the body says, so that proxies can trust them. Raises JsonRpcError."""
    wanted = {
        "mcp-protocol-version": text_at(dict_at(params, "_meta"), f"{META}protocolVersion"),
        "mcp-method": method,
    }
    if method in NAMED:
        wanted["mcp-name"] = text_at(params, NAMED[method])
    for name, value in wanted.items():
        if _plain(headers.get(name, "").strip()) != value and value:
            raise JsonRpcError(HEADER_MISMATCH, f"The header {name} differs from the body.")


def _plain(value: str) -> str:
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except (Error, UnicodeDecodeError):
        return ""


def complete(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result as this revision wants it. What we list can change any time."""
    hints = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
    return {"resultType": "complete", "_meta": {f"{META}serverInfo": SERVER_INFO}, **hints, **result}
