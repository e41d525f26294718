"""JSON-RPC 2.0: numbers requests, matches their answers, and passes on what the other side sends."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, field, json

from tau.base.errors import TauError
from tau.base.text import clean_line, shortened

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = (
    *(-32700, -32600, -32601, -32602),
    -32603,
)
MAX_SHOWN_CHARS = 500
MAX_BATCH = 100
RpcId: TypeAlias = int | str


class JsonRpcError(TauError):
    """The other side refused a request: `code`, its message, and what it added."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(shortened(clean_line(message), MAX_SHOWN_CHARS) or f"error {code}")
        self.code = code
        self.data = data


class RpcFault(Struct, frozen=True):
    code: int = INTERNAL_ERROR
    message: str = ""
    data: Any = None


class RpcMessage(Struct, frozen=True):
    """One message. Parts that depend on the method stay undecoded."""

    id: int | str | float | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = field(default_factory=lambda: Raw(b"null"))
    result: Raw | UnsetType = UNSET
    error: RpcFault | UnsetType = UNSET


_ONE = json.Decoder(RpcMessage)
_MANY = json.Decoder(list[RpcMessage])


def decode_messages(data: bytes) -> list[RpcMessage]:
    """Decode a message or a batch. Raises DecodeError."""
    try:
        return _MANY.decode(data)[:MAX_BATCH] if data.lstrip()[:1] == b"[" else [_ONE.decode(data)]
    except (UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(str(error)) from error


def encode_message(method: str, params: object = None, id: RpcId | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        message["id"] = id
    message["method"] = method
    if params is not None:
        message["params"] = params
    return json.encode(message)


def encode_answer(id: RpcId | None, result: object = None, error: RpcFault | None = None) -> bytes:
    if error is None:
        return json.encode({"jsonrpc": "2.0", "id": id, "result": result})
    fault = {"code": error.code, "message": error.message}
    return json.encode(
        {"jsonrpc": "2.0", "id": id, "error": fault if error.data is None else {**fault, "data": error.data}}
    )


class RpcCall:
    """A request on its way: its message, and the future of its result."""

    def __init__(self, id: int, method: str, data: bytes) -> None:
        self.id, self.method, self.data = id, method, data
        self.answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()

    def fail(self, error: TauError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # it may be that nobody waits any more


OnRequest: TypeAlias = Callable[[RpcId, str, Raw], None]
OnNotification: TypeAlias = Callable[[str, Raw], None]


class RpcPeer:
    """Our end of a connection, whatever carries the messages. Answers nobody waits for are dropped."""

    def __init__(
        self, on_request: OnRequest, on_notification: OnNotification, on_garbage: Callable[[str], None]
    ) -> None:
        self._on_request, self._on_notification, self._on_garbage = on_request, on_notification, on_garbage
        self._calls: dict[int, RpcCall] = {}
        self._last_id = 0

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def begin(self, method: str, params: object = None, id: int | None = None) -> RpcCall:
        id = self.next_id() if id is None else id
        call = self._calls[id] = RpcCall(id, method, encode_message(method, params, id))
        return call

    def end(self, call: RpcCall) -> None:
        self._calls.pop(call.id, None)

    def fail_all(self, error: TauError) -> None:
        for call in tuple(self._calls.values()):
            call.fail(error)

    def take(self, data: bytes) -> None:
        """Handle one message, or a batch, from the other side."""
        try:
            messages = decode_messages(data)
        except DecodeError as error:
            self._on_garbage(f"{error}: {shortened(data[:400].decode('utf-8', 'replace'), 200)!r}")
            return
        for message in messages:
            self.take_message(message)

    def take_message(self, message: RpcMessage) -> None:
        if not isinstance(message.method, UnsetType):
            if isinstance(message.id, int | str):
                self._on_request(message.id, message.method, message.params)
            else:
                self._on_notification(message.method, message.params)
            return
        call = self._calls.get(_number(message.id))
        if call is None or call.answer.done():
            self._on_garbage(f"an answer to the unknown request {message.id!r}")
        elif not isinstance(message.error, UnsetType):
            fault = message.error
            call.fail(JsonRpcError(fault.code, fault.message, fault.data))
        elif isinstance(message.result, UnsetType):
            call.fail(JsonRpcError(INVALID_REQUEST, "The answer has neither a result nor an error."))
        else:
            call.answer.set_result(message.result)

    def refuse_oversized(self, head: bytes, tail: bytes, problem: str) -> None:
        """Fail the call that a message too large to read answers, if its start or end names it."""
        found = re.search(rb'"id"\s*:\s*(\d{1,9})\b', head) or re.search(rb'"id"\s*:\s*(\d{1,9})\b', tail)
        call = self._calls.get(int(found[1])) if found else None
        if call is None:
            self._on_garbage(problem)
        else:
            call.fail(JsonRpcError(INTERNAL_ERROR, problem))


def _number(id: object) -> int:
    """The id of one of our requests; some servers answer with text or a float."""
    if isinstance(id, int):
        return id
    text = str(int(id)) if isinstance(id, float) and id.is_integer() else str(id)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
