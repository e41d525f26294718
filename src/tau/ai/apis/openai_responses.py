"""The dialect `openai-responses`: POST /responses, answered by server-sent events.

An answer is a list of items. Each starts, streams and ends with an event that has it whole, so what did not
stream (or streamed only in part) is taken from there.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

from tau.ai import dialect as d
from tau.ai.apis.openai_responses_body import (
    REASONING_FIELDS,
    CallSignature,
    TextSignature,
    build_body,
    custom_format,
)
from tau.ai.apis.request import as_count, as_text, headers, known_miss, post
from tau.ai.apis.stop_reasons import done_reason
from tau.ai.model import Model
from tau.ai.sse import DOCUMENT, decode_document, decode_event, known_decoder, read_events
from tau.ai.transport import Transport
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")

oauth_tokens = late("tau.ai.oauth.tokens")

PLAN_CLAIM = "https://api.openai.com/auth"
END_OF_STREAM = b"[DONE]"
STEERED = "steered"  # the answer ended early, but at the end of an item
OTHER_ARGUMENTS = "the server sent two versions of the arguments. Nothing was changed; send it again"

_encode = msgspec.json.encode


async def stream(
    model: Model, request: d.Request, endpoint: d.Endpoint, http: Transport
) -> AsyncGenerator[d.Delta, None]:
    body = build_body(model, request)
    target, sent, tokens = (
        url(endpoint.base_url, model),
        _headers(endpoint, model),
        body.get("max_output_tokens", 0),
    )
    async with post(
        http, target, sent, body, model=model, endpoint=endpoint, answer_tokens=tokens
    ) as response:
        del body
        answer = _Answer(model, request, endpoint.key)
        async for name, data in read_events(response):
            if name == DOCUMENT:
                for delta in answer.read_document(data):
                    yield delta
                return
            if data == END_OF_STREAM:
                break
            event = _decode(data)
            if event is None:
                continue
            if event.type == TEXT and (text := answer.text_piece(event)):
                yield d.TextPiece(text)  # by far the most frequent, so it takes the fast path
                continue
            for delta in answer.read(event, data):
                yield delta
            if answer.done:
                return
    raise error_response.cut_off(model.provider)


def url(base_url: str, model: Model) -> str:
    base, _, query = base_url.partition("?")
    version = f"api-version={model.compat.api_version}" if model.compat.api_version else ""
    query = "&".join(filter(None, (query, version)))
    return f"{base.rstrip('/')}/responses{f'?{query}' if query else ''}"


def _headers(endpoint: d.Endpoint, model: Model) -> dict[str, str]:
    if not endpoint.key:
        return headers(endpoint, {})
    name = model.compat.key_header.lower()
    ours = {name: endpoint.key} if name else {"authorization": f"Bearer {endpoint.key}"}
    if model.compat.account_header:
        plan = oauth_tokens.token_claims(endpoint.key).get(PLAN_CLAIM)
        if isinstance(plan, dict) and (account := as_text(plan.get("chatgpt_account_id"))):
            ours[model.compat.account_header] = account
    return headers(endpoint, ours)


class _Part(Struct, frozen=True):
    text: object = None
    refusal: object = None


class _Item(Struct, frozen=True):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: object = None
    input: object = None
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    phase: str | None = None
    status: str | None = None


class _Incomplete(Struct, frozen=True):
    reason: str | None = None


class _Response(Struct, frozen=True):
    id: str | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: object = None
    error: object = None
    incomplete_details: _Incomplete | None = None
    service_tier: str | None = None
    prompt_cache_diagnostics: object = None
    kind: str | None = msgspec.field(default=None, name="object")


class _Event(Struct, frozen=True):
    """All events in one struct: unknown kinds need no handling, and frequent ones decode fast."""

    type: str = ""
    delta: object = None
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int = 0
    item: msgspec.Raw = msgspec.Raw()
    response: _Response | None = None


_EVENT = msgspec.json.Decoder(_Event)
_ITEM = msgspec.json.Decoder(_Item)
_RESPONSE = msgspec.json.Decoder(_Response)

TEXT = "response.output_text.delta"
REFUSAL = "response.refusal.delta"
SUMMARY = "response.reasoning_summary_text.delta"
SUMMARY_PART = "response.reasoning_summary_part.added"
REASONING = "response.reasoning_text.delta"
ARGUMENTS = "response.function_call_arguments.delta"
INPUT = "response.custom_tool_call_input.delta"
KNOWN = frozenset(
    {
        *(TEXT, REFUSAL, SUMMARY, SUMMARY_PART, REASONING, ARGUMENTS, INPUT),
        *("response.output_item.added", "response.output_item.done"),
        *("response.created", "response.completed", "response.incomplete", "response.failed", "error"),
    }
)
_decode = known_decoder(_EVENT, KNOWN, _Event("error"))
CALLS = ("function_call", "custom_tool_call")


class _Open:
    """An item that streams: what has arrived of it."""

    __slots__ = ("custom", "ended", "kind", "pieces", "source")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.custom = kind == "custom_tool_call"
        self.source = ""  # of reasoning: a summary or the text itself, never both
        self.ended = False


class _Answer:
    """State between the events of one answer."""

    def __init__(self, model: Model, request: d.Request, key: str | None) -> None:
        self._provider = model.provider
        self._key = key
        self._items: dict[int, _Open] = {}
        self._places: dict[str, int] = {}  # the index of each item by its id
        self._called = False
        self._id: str | None = None
        self._custom: Mapping[str, str] = {
            format.name: tool.name
            for tool in request.tools
            if (format := custom_format(tool, model)) is not None
        }
        self.done = False

    def text_piece(self, event: _Event) -> str:
        """The text of a delta; empty if it does not continue a message."""
        item = self._items.get(self._place(event.output_index, event.item_id))
        if item is None or type(event.delta) is not str:
            return ""
        item.pieces.append(event.delta)
        return event.delta

    def read(self, event: _Event, data: bytes) -> Iterator[d.Delta]:
        kind = event.type
        if type(event.delta) is str and event.delta:
            yield from self._piece(kind, self._place(event.output_index, event.item_id), event.delta)
        elif kind == SUMMARY_PART:
            index = self._place(event.output_index, event.item_id)
            if event.summary_index and (item := self._items.get(index)) and item.pieces:
                yield from self._piece(SUMMARY, index, "\n\n")
        elif kind == "response.output_item.added":
            if bytes(event.item):
                added = self._item(event.item)
                yield from self._start(self._place(event.output_index, added.id), added)
        elif kind == "response.output_item.done":
            if bytes(event.item):
                yield from self._end(event.output_index, event.item)
        elif event.response is not None and kind.startswith("response."):
            yield from self._response(kind, event.response)
        elif kind == "error":
            raise error_response.error_from_event(data, provider=self._provider, key=self._key)

    def _place(self, index: int | None, id: str | None) -> int:
        """The index of an item. Not every server sends it; its id then says which item it is."""
        if index is None:
            last = max(self._items, default=-1)
            index = self._places.get(id, last + 1) if id else max(last, 0)
        if id:
            self._places[id] = index
        return index

    def read_document(self, data: bytes) -> Iterator[d.Delta]:
        """Read an answer that came whole. Raises an error for any other document."""
        response = decode_document(_RESPONSE, data) or _Response()
        if response.kind != "response" or (response.output is None and not response.error):
            raise error_response.error_from_document(data, provider=self._provider, key=self._key)
        yield from self._response(f"response.{response.status or 'completed'}", response)
        if not self.done:
            raise error_response.cut_off(self._provider)

    def _item(self, raw: msgspec.Raw) -> _Item:
        try:
            return _ITEM.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return decode_event(_ITEM, bytes(raw))

    def _piece(self, kind: str, index: int, text: str) -> Iterator[d.Delta]:
        if kind in (TEXT, REFUSAL):
            item = self._items.get(index) or self._open(index, "message")
            item.pieces.append(text)
            yield d.TextPiece(text)
        elif kind in (SUMMARY, REASONING):
            item = self._items.get(index) or self._open(index, "reasoning")
            if item.source in ("", kind):
                item.source = kind
                item.pieces.append(text)
                yield d.ThinkingPiece(text)
        elif kind in (ARGUMENTS, INPUT) and _is_open_call(call := self._items.get(index)):
            call.pieces.append(text)
            yield d.CallPiece(index, _escaped(text) if call.custom else text)

    def _open(self, index: int, kind: str) -> _Open:
        item = self._items[index] = _Open(kind)
        return item

    def _start(self, index: int, item: _Item) -> Iterator[d.Delta]:
        old = self._items.get(index)
        if _is_open_call(old):
            old.ended = True
            yield d.CallEnd(index, d.CUT_OFF)  # another item takes its place
        elif old is not None and old.kind == item.type and not old.ended:
            return  # some servers send its first piece before its start
        self._open(index, item.type)
        if item.type in CALLS:
            self._called = True
            id, name = item.call_id or item.id or "", item.name or ""
            if item.type == "custom_tool_call":
                yield d.CallStart(index, id, self._custom.get(name, name), name)
                yield d.CallPiece(index, '{"input":"')
            else:
                yield d.CallStart(index, id, name)

    def _end(self, output_index: int | None, raw: msgspec.Raw) -> Iterator[d.Delta]:
        item = self._item(raw)
        index = self._place(output_index, item.id)
        started = self._items.get(index)
        if started is None or started.kind != item.type:
            yield from self._start(index, item)
            started = self._items[index]
        if started.ended:
            return
        started.ended = True
        if item.type == "message":
            yield from self._end_message(item, started)
        elif item.type == "reasoning":
            yield from self._end_reasoning(raw, item, started)
        elif item.type in CALLS:
            yield from self._end_call(index, item, started)
        else:
            yield d.UnknownBlock(bytes(raw).decode("utf-8", "replace"))

    def _end_message(self, item: _Item, started: _Open) -> Iterator[d.Delta]:
        whole = "".join(as_text(part.text) or as_text(part.refusal) for part in item.content or ())
        if rest := _rest(whole, started):
            yield d.TextPiece(rest)
        if whole and (item.id or item.phase):
            signature = TextSignature(1, item.id or "", item.phase or "")
            yield d.Signature(_encode(signature).decode())
        yield d.BlockEnd()

    def _end_reasoning(self, raw: msgspec.Raw, item: _Item, started: _Open) -> Iterator[d.Delta]:
        if started.source != REASONING and item.summary:
            whole = "\n\n".join(as_text(part.text) for part in item.summary)
        else:
            whole = "".join(as_text(part.text) for part in item.content or ())
        kept = msgspec.json.decode(raw)
        kept = {name: kept[name] for name in REASONING_FIELDS if kept.get(name)}
        sealed = "encrypted_content" in kept or "content" in kept
        if sealed or whole:
            yield d.ThinkingPiece(_rest(whole, started))  # even without text: the signature belongs to it
        if sealed:
            yield d.Signature(_encode({"summary": [], **kept}).decode())
        yield d.BlockEnd()

    def _end_call(self, index: int, item: _Item, started: _Open) -> Iterator[d.Delta]:
        whole = item.input if started.custom else item.arguments
        if isinstance(whole, dict):
            whole = _encode(whole).decode()
        text = as_text(whole)
        problem = d.CUT_OFF if item.status == "incomplete" or whole is None else ""
        if started.pieces and not text.startswith("".join(started.pieces)):
            problem = problem or OTHER_ARGUMENTS
        elif rest := _rest(text, started):
            yield d.CallPiece(index, _escaped(rest) if started.custom else rest)
        if started.custom and not problem:
            yield d.CallPiece(index, '"}')
        yield d.CallEnd(index, problem, _encode(CallSignature(item.id)).decode() if item.id else "")

    def _response(self, kind: str, response: _Response) -> Iterator[d.Delta]:
        self._check_id(response.id)
        if kind == "response.created":
            yield d.Answered(response.id or "")
        elif kind == "response.failed" or kind == "response.cancelled":
            error = response.error or {"message": f"the response was {kind.rpartition('.')[2]}."}
            raise error_response.error_from_event(
                _encode({"error": error}), provider=self._provider, key=self._key
            )
        elif kind in ("response.completed", "response.incomplete"):
            for index, raw in enumerate(response.output or ()):
                yield from self._end(self._places.get(self._item(raw).id or "", index), raw)
            if isinstance(response.usage, dict):
                yield _tokens(response.usage, response)
            yield from self._finish(kind, response)

    def _finish(self, kind: str, response: _Response) -> Iterator[d.Delta]:
        for index, item in self._items.items():
            if _is_open_call(item):
                yield d.CallEnd(index, d.CUT_OFF)
        reason: d.DoneReason = "toolUse" if self._called else "stop"
        if kind == "response.incomplete":
            why = (response.incomplete_details or _Incomplete()).reason or "max_output_tokens"
            if why != STEERED:
                done_reason(why, self._provider)  # raises if the answer was filtered
                reason = "length"
        self.done = True
        yield d.Done(reason)

    def _check_id(self, id: str | None) -> None:
        """Raise an error if another answer starts: a gateway asked a second server after the first failed."""
        if self._id is not None and id is not None and id != self._id:
            raise error_response.cut_off(self._provider)
        self._id = id or self._id


def _is_open_call(item: _Open | None) -> TypeGuard[_Open]:
    return item is not None and item.kind in CALLS and not item.ended


def _rest(whole: str, started: _Open) -> str:
    """What of an item did not stream; empty if the item is not what streamed."""
    streamed = "".join(started.pieces)
    return whole[len(streamed) :] if whole.startswith(streamed) else ""


def _escaped(text: str) -> str:
    """The text as part of a JSON string."""
    return _encode(text).decode()[1:-1]


def _tokens(usage: dict[str, Any], response: _Response) -> d.Tokens:
    """`input_tokens` includes what was read from and written to the cache."""
    read = usage.get("input_tokens_details")
    read = read if isinstance(read, dict) else {}
    wrote = usage.get("output_tokens_details")
    wrote = wrote if isinstance(wrote, dict) else {}
    miss = response.prompt_cache_diagnostics
    miss = miss if isinstance(miss, dict) else {}
    cached, written = as_count(read.get("cached_tokens")), as_count(read.get("cache_write_tokens"))
    return d.Tokens(
        max(0, as_count(usage.get("input_tokens")) - cached - written),
        as_count(usage.get("output_tokens")),
        cached,
        written,
        as_count(wrote.get("reasoning_tokens")),
        tier=response.service_tier,
        cache_miss=known_miss(miss.get("reason"), miss.get("cache_missed_tokens")),
    )
