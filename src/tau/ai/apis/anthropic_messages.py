"""The dialect `anthropic-messages`: POST /v1/messages, answered by server-sent events."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from tau.ai import dialect as d
from tau.ai.apis.anthropic_body import build_body, is_fast
from tau.ai.apis.request import headers, known_miss, post, reported_count
from tau.ai.apis.stop_reasons import done_reason
from tau.ai.assembler import parse_arguments
from tau.ai.auth import CLAUDE_TOKEN
from tau.ai.model import Model
from tau.ai.sse import DOCUMENT, decode_document, known_decoder, read_events
from tau.ai.transport import Transport
from tau.ai.wire import new_call_id
from tau.base.errors import ProviderError
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")

VERSION = "2023-06-01"

BEARER_KEYS = "sk-or-"  # for `authorization` instead of `x-api-key`

MISSING = object()


async def stream(
    model: Model, request: d.Request, endpoint: d.Endpoint, http: Transport
) -> AsyncGenerator[d.Delta, None]:
    body = build_body(model, request)
    target, tokens = url(endpoint.base_url), body["max_tokens"]
    sent = _headers(endpoint, model)
    if is_fast(model, request):
        sent["anthropic-beta"] = ",".join(filter(None, (sent.get("anthropic-beta"), model.compat.fast_mode)))
    async with post(
        http, target, sent, body, model=model, endpoint=endpoint, answer_tokens=tokens
    ) as response:
        del body
        answer = _Answer(model.provider, endpoint.key)
        async for name, data in read_events(response):
            if name == DOCUMENT:
                for whole in answer.read_document(data):
                    yield whole
                return
            event = _decode(data)
            if event is None:
                continue
            delta = event.delta
            if delta is not None and event.type == "content_block_delta":
                # By far the most frequent, so they take the fast path.
                if delta.text:
                    yield d.TextPiece(delta.text)
                elif delta.thinking:
                    yield d.ThinkingPiece(delta.thinking)
                elif delta.partial_json:
                    if answer.continues_call(event.index, delta.partial_json):
                        yield d.CallPiece(event.index, delta.partial_json)
                elif delta.signature:
                    yield d.Signature(delta.signature)
                continue
            for other in answer.read(event, data):
                yield other
            if answer.done:
                return
    raise error_response.cut_off(model.provider)


def url(base_url: str) -> str:
    """The request URL; the base URL may include the version or not."""
    base = base_url.rstrip("/")
    return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"


def _headers(endpoint: d.Endpoint, model: Model) -> dict[str, str]:
    ours = {"anthropic-version": VERSION}
    key = endpoint.key
    if not key:
        return headers(endpoint, ours)
    if key.startswith(CLAUDE_TOKEN):
        raise ProviderError(
            f"The key for {model.provider} is the token of a Claude plan ({CLAUDE_TOKEN}...), which Anthropic"
            " allows only in its own products: create an API key at"
            " https://console.anthropic.com/settings/keys, and set it as ANTHROPIC_API_KEY or run tau login"
            " anthropic.",
            kind="auth",
        )
    if model.compat.key_header.lower() == "authorization" or key.startswith(BEARER_KEYS):
        return headers(endpoint, {**ours, "authorization": f"Bearer {key}"})
    return headers(endpoint, {**ours, "x-api-key": key})


class _CacheCreation(Struct, frozen=True, gc=False):
    ephemeral_1h_input_tokens: object = None


class _OutputDetails(Struct, frozen=True, gc=False):
    thinking_tokens: object = None


class _Usage(Struct, frozen=True, gc=False):
    input_tokens: object = None
    output_tokens: object = None
    cache_read_input_tokens: object = None
    cache_creation_input_tokens: object = None
    cache_creation: _CacheCreation | None = None
    output_tokens_details: _OutputDetails | None = None
    service_tier: str | None = None
    speed: str | None = None


class _MissReason(Struct, frozen=True, gc=False):
    type: str = ""
    cache_missed_input_tokens: object = None


class _Diagnostics(Struct, frozen=True, gc=False):
    cache_miss_reason: _MissReason | None = None


class _Start(Struct, frozen=True):
    id: str | None = None
    usage: _Usage | None = None
    diagnostics: _Diagnostics | None = None


class _Block(Struct, frozen=True):
    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    input: Any = None


class _Delta(Struct, frozen=True, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Event(Struct, frozen=True):
    """All events in one struct: unknown kinds need no handling, and frequent ones decode fast."""

    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Start | None = None
    usage: _Usage | None = None


class _Document(Struct, frozen=True):
    """An answer that does not stream."""

    type: str = ""
    content: list[_Block] | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None
    diagnostics: _Diagnostics | None = None


_EVENT = msgspec.json.Decoder(_Event)
_DOCUMENT = msgspec.json.Decoder(_Document)

_KNOWN = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop", "error"),
    }
)
_decode = known_decoder(_EVENT, _KNOWN, _Event("error"))


class _UnknownBlock(Struct):
    """A block of another kind, with all its fields, while its input streams."""

    block: dict[str, Any]
    pieces: list[str] = []

    def json(self) -> str:
        if self.pieces:
            self.block["input"], _ = parse_arguments("".join(self.pieces))
        return msgspec.json.encode(self.block).decode()


class _Answer:
    """State between the events of one answer."""

    def __init__(self, provider: str, key: str | None) -> None:
        self._provider = provider
        self._key = key
        self._calls: dict[int, Any] = {}  # the input sent with the start, until pieces of it arrive
        self._called = self._ended = False
        self._id: str | None = None
        self._reason: d.DoneReason = "stop"
        self._unknown: dict[int, _UnknownBlock] = {}
        self._has_unknown = False
        self.done = False

    def continues_call(self, index: int, piece: str) -> bool:
        """Whether pieces of this block belong to a call; if so, they replace the input of its start."""
        if index not in self._calls:
            if (unknown := self._unknown.get(index)) is not None:
                unknown.pieces.append(piece)
            return False
        self._calls[index] = None
        return True

    def read(self, event: _Event, data: bytes) -> Iterator[d.Delta]:
        match event.type:
            case "message_start":
                if event.message is not None:
                    yield from self._begin(event.message)
            case "content_block_start":
                if self._calls.pop(event.index, MISSING) is not MISSING:
                    yield d.CallEnd(event.index, d.CUT_OFF)  # another block takes its place
                if event.content_block is not None:
                    yield from self._start(event.index, event.content_block, data)
            case "content_block_stop":
                yield from self._stop(event.index)
            case "message_delta":
                if event.usage is not None:
                    yield _tokens(event.usage)
                if event.delta is not None and event.delta.stop_reason is not None:
                    self._reason = done_reason(event.delta.stop_reason, self._provider)
                    self._ended = True
            case "message_stop":
                self.done = True
                yield self._done()
            case "error" if self._ended:
                self.done = True  # after the stop reason, nothing is missing
                yield self._done()
            case "error":
                raise error_response.error_from_event(data, provider=self._provider, key=self._key)
            case _:
                pass

    def read_document(self, data: bytes) -> Iterator[d.Delta]:
        """Read an answer that came whole. Raises an error for any other document."""
        document = decode_document(_DOCUMENT, data) or _Document()
        if document.type != "message" or document.content is None:
            raise error_response.error_from_document(data, provider=self._provider, key=self._key)
        if document.usage is not None:
            yield _tokens(document.usage, document.diagnostics)
        self._reason = done_reason(document.stop_reason or "", self._provider)
        for index, block in enumerate(document.content):
            yield from self._start(index, block, b"")
            yield from self._stop(index)
        yield self._done()

    def _done(self) -> d.Done:
        reason = self._reason
        if reason == "pause" and not self._has_unknown:
            reason = "stop"  # there is nothing that only the server can continue
        return d.Done("toolUse" if self._called and reason in ("stop", "pause") else reason)

    def _check_id(self, id: str | None) -> None:
        """Raise an error if another answer starts: a gateway asked a second server after the first failed."""
        if self._id is not None and id != self._id:
            raise error_response.cut_off(self._provider)
        self._id = id

    def _begin(self, message: _Start) -> Iterator[d.Delta]:
        self._check_id(message.id)
        if message.id:
            yield d.Answered(message.id)
        if message.usage is not None:
            yield _tokens(message.usage, message.diagnostics)

    def _start(self, index: int, block: _Block, data: bytes) -> Iterator[d.Delta]:
        match block.type:
            case "text":
                if block.text:
                    yield d.TextPiece(block.text)
            case "thinking":
                # Even without text: the next signature belongs to it.
                yield d.ThinkingPiece(block.thinking or "")
                if block.signature:
                    yield d.Signature(block.signature)
            case "redacted_thinking":
                yield d.RedactedThinking(block.data or "")
            case "tool_use":
                self._called = True
                self._calls[index] = block.input
                yield d.CallStart(index, block.id or new_call_id(), block.name or "")
            case _:  # server-side tools, such as search
                if data:
                    self._unknown[index] = _UnknownBlock(msgspec.json.decode(data)["content_block"])

    def _stop(self, index: int) -> Iterator[d.Delta]:
        if (unknown := self._unknown.pop(index, None)) is not None:
            self._has_unknown = True
            yield d.UnknownBlock(unknown.json())
            return
        if index not in self._calls:
            yield d.BlockEnd()
            return
        whole = self._calls.pop(index)
        if whole:
            yield d.CallPiece(index, msgspec.json.encode(whole).decode())
        yield d.CallEnd(index)


def _tokens(usage: _Usage, diagnostics: _Diagnostics | None = None) -> d.Tokens:
    reason = None if diagnostics is None else diagnostics.cache_miss_reason
    details, written = usage.output_tokens_details, usage.cache_creation
    return d.Tokens(
        reported_count(usage.input_tokens),
        reported_count(usage.output_tokens),
        reported_count(usage.cache_read_input_tokens),
        reported_count(usage.cache_creation_input_tokens),
        reported_count(details and details.thinking_tokens),
        reported_count(written and written.ephemeral_1h_input_tokens),
        tier="fast" if usage.speed == "fast" else usage.service_tier,
        cache_miss=None if reason is None else known_miss(reason.type, reason.cache_missed_input_tokens),
    )
