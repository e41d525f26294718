"""The dialect `bedrock-converse-stream`: POST /model/ID/converse-stream, answered by binary frames.

The key is a bearer token, or `ACCESS_KEY_ID:SECRET[:SESSION_TOKEN]`, which signs the request.
"""

import time
from binascii import a2b_base64, b2a_base64
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from tau.ai import dialect as d
from tau.ai.apis.bedrock_body import build_body
from tau.ai.apis.request import encode, headers, post, reported_count
from tau.ai.apis.stop_reasons import done_reason
from tau.ai.aws_event_stream import read_messages
from tau.ai.model import Model
from tau.ai.proxy import parse_url
from tau.ai.sse import decode_document, decode_event
from tau.ai.transport import Transport
from tau.base.errors import ProviderError
from tau.base.late import late

aws_sigv4 = late("tau.ai.aws_sigv4")
error_response = late("tau.ai.apis.error_response")
parse = late("urllib.parse")

SERVICE = "bedrock"
DEFAULT_REGION = "us-east-1"
ACCEPT = "application/vnd.amazon.eventstream"

# The status of exceptions in a stream. A `modelStreamErrorException` has its own, if any.
EXCEPTIONS = {
    "internalServerException": 500,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
    "modelTimeoutException": 408,
}


async def stream(
    model: Model, request: d.Request, endpoint: d.Endpoint, http: Transport
) -> AsyncGenerator[d.Delta, None]:
    body = build_body(model, request)
    target, data, tokens = (
        url(endpoint.base_url, model.id),
        encode(body),
        body["inferenceConfig"]["maxTokens"],
    )
    sent = _headers(model, endpoint, target, data)
    async with post(
        http, target, sent, data, model=model, endpoint=endpoint, answer_tokens=tokens
    ) as response:
        del body, data
        answer = _Answer(model.provider, endpoint.key)
        try:
            async for kind, payload in read_messages(response):
                if not kind:
                    for whole in answer.read_document(payload):
                        yield whole
                    break
                for delta in answer.read(kind, payload):
                    yield delta
                if answer.is_counted:
                    break
        except ProviderError:
            if not answer.ended:  # only the usage is missing
                raise
        if not answer.ended:
            raise error_response.cut_off(model.provider)
        yield answer.done()


def url(base_url: str, id: str) -> str:
    """The request URL. An id may be an ARN, whose colons and slashes are encoded."""
    return f"{base_url.rstrip('/')}/model/{parse.quote(id, safe='')}/converse-stream"


def _headers(model: Model, endpoint: d.Endpoint, target: str, body: bytes) -> dict[str, str]:
    sent = headers(endpoint, {"accept": ACCEPT})
    if not endpoint.key or "authorization" in sent:
        return sent
    key = aws_sigv4.parse_key(endpoint.key)
    if key is None:
        return {**sent, "authorization": f"Bearer {endpoint.key}"}
    named = model.id.split(":")[3] if model.id.startswith("arn:") and model.id.count(":") > 4 else ""
    region = aws_sigv4.region_of(parse_url(target).host, named or DEFAULT_REGION)
    return aws_sigv4.sign(
        "POST", target, sent, body, key=key, region=region, service=SERVICE, now=time.time()
    )


class _ToolUse(Struct, frozen=True, rename="camel"):
    tool_use_id: str | None = None
    name: str | None = None
    input: Any = None  # a piece of JSON in a delta, an object in a document


class _Reasoning(Struct, frozen=True, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None
    reasoning_text: "_Reasoning | None" = None  # in a document


class _Block(Struct, frozen=True, rename="camel"):
    """A block, its start or a piece of it."""

    text: str | None = None
    tool_use: _ToolUse | None = None
    reasoning_content: _Reasoning | None = None


class _Usage(Struct, frozen=True, gc=False, rename="camel"):
    input_tokens: object = None
    output_tokens: object = None
    cache_read_input_tokens: object = None
    cache_write_input_tokens: object = None


class _Event(Struct, frozen=True, rename="camel"):
    """All events in one struct: unknown kinds need no handling."""

    content_block_index: int = 0
    start: _Block | None = None
    delta: _Block | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Content(Struct, frozen=True):
    content: list[_Block] | None = None


class _Output(Struct, frozen=True):
    message: _Content | None = None


class _Document(Struct, frozen=True, rename="camel"):
    """An answer that does not stream."""

    output: _Output | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_EVENT = msgspec.json.Decoder(_Event)
_DOCUMENT = msgspec.json.Decoder(_Document)
_KNOWN = frozenset(
    {
        *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"),
        "metadata",
    }
)


class _Answer:
    """State between the events of one answer. `ended`: only the usage can follow; `is_counted`: it did."""

    def __init__(self, provider: str, key: str | None) -> None:
        self._provider = provider
        self._key = key
        self._calls: set[int] = set()
        self._called = self._started = False
        self._thinking: int | None = None  # the open block, if it is one
        self._redacted: list[bytes] = []
        self._reason: d.DoneReason = "stop"
        self.ended = self.is_counted = False

    def read(self, headers: dict[str, str], data: bytes) -> Iterator[d.Delta]:
        if headers.get(":message-type", "event") != "event":
            if self.ended:
                self.is_counted = True
                return
            raise self._exception(headers, data)
        kind = headers.get(":event-type", "")
        if kind not in _KNOWN:
            return
        event = decode_event(_EVENT, data)
        match kind:
            case "messageStart" if self._started:
                raise error_response.cut_off(self._provider)  # a gateway asked a second server
            case "messageStart":
                self._started = True
            case "contentBlockStart":
                yield from self._start(event.content_block_index, event.start or _Block())
            case "contentBlockDelta" if event.delta is not None:
                yield from self._piece(event.content_block_index, event.delta)
            case "contentBlockStop":
                yield from self._stop(event.content_block_index)
            case "messageStop":
                self._reason = done_reason(event.stop_reason or "", self._provider)
                self.ended = True
            case "metadata":
                if event.usage is not None:
                    yield _tokens(event.usage)
                self.is_counted = self.ended
            case _:
                pass

    def read_document(self, data: bytes) -> Iterator[d.Delta]:
        """Read an answer that came whole. Raises an error for any other document."""
        document = decode_document(_DOCUMENT, data) or _Document()
        message = document.output.message if document.output is not None else None
        if message is None or message.content is None:
            raise error_response.error_from_document(data, provider=self._provider, key=self._key)
        if document.usage is not None:
            yield _tokens(document.usage)
        self._reason = done_reason(document.stop_reason or "", self._provider)
        for index, block in enumerate(message.content):
            yield from self._start(index, block)
            yield from self._piece(index, block)
            yield from self._stop(index)
        self.ended = True

    def done(self) -> d.Done:
        return d.Done("toolUse" if self._reason == "stop" and self._called else self._reason)

    def _start(self, index: int, block: _Block) -> Iterator[d.Delta]:
        yield from self._overtake(index)
        if (call := block.tool_use) is not None:
            self._called = True
            self._calls.add(index)
            yield d.CallStart(index, call.tool_use_id or "", call.name or "")

    def _overtake(self, index: int) -> Iterator[d.Delta]:
        """End the call whose place another block takes."""
        if index in self._calls:
            self._calls.discard(index)
            yield d.CallEnd(index, d.CUT_OFF)

    def _piece(self, index: int, block: _Block) -> Iterator[d.Delta]:
        if block.tool_use is None:
            yield from self._overtake(index)
        if block.text:
            yield d.TextPiece(block.text)
        if block.tool_use is not None and index in self._calls:
            piece = block.tool_use.input
            if piece is not None and not isinstance(piece, str):
                piece = msgspec.json.encode(piece).decode()
            if piece:
                yield d.CallPiece(index, piece)
        if block.reasoning_content is not None:
            yield from self._reasoning(index, block.reasoning_content)

    def _reasoning(self, index: int, reasoning: _Reasoning) -> Iterator[d.Delta]:
        if reasoning.redacted_content:
            self._redacted.append(_decode_base64(reasoning.redacted_content))
        shown = reasoning.reasoning_text or reasoning
        if shown.text or (shown.signature and self._thinking != index):
            self._thinking = index
            yield d.ThinkingPiece(shown.text or "")
        if shown.signature:
            yield d.Signature(shown.signature)

    def _stop(self, index: int) -> Iterator[d.Delta]:
        if index in self._calls:
            self._calls.discard(index)
            yield d.CallEnd(index)
            return
        self._thinking = None
        if self._redacted:
            yield d.RedactedThinking(b2a_base64(b"".join(self._redacted), newline=False).decode())
            self._redacted.clear()
        else:
            yield d.BlockEnd()

    def _exception(self, headers: dict[str, str], data: bytes) -> ProviderError:
        kind = headers.get(":exception-type") or headers.get(":error-code") or "unknown"
        try:
            said = msgspec.json.decode(data) if data else {}
        except (msgspec.DecodeError, RecursionError):
            said = {}
        said = said if isinstance(said, dict) else {}
        message = said.get("message") or said.get("Message") or said.get("originalMessage")
        status = said.get("originalStatusCode") or EXCEPTIONS.get(kind[:1].lower() + kind[1:])
        error = {"message": message or headers.get(":error-message") or kind, "type": kind, "code": status}
        return error_response.error_from_event(
            msgspec.json.encode({"error": error}), provider=self._provider, key=self._key
        )


def _decode_base64(text: str) -> bytes:
    try:
        return a2b_base64(text)
    except ValueError:
        return b""


def _tokens(usage: _Usage) -> d.Tokens:
    return d.Tokens(
        reported_count(usage.input_tokens),
        reported_count(usage.output_tokens),
        reported_count(usage.cache_read_input_tokens),
        reported_count(usage.cache_write_input_tokens),
    )
