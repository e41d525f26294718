"""Builds the assistant message from a dialect's deltas, prices it and emits its events."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Literal, assert_never

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai import stream_events as e
from tau.ai.model import Model, Price
from tau.ai.wire import (
    AssistantContent,
    AssistantMessage,
    CacheLifetimes,
    Cost,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
    is_signed,
    issuer_address,
    new_call_id,
)
from tau.base.clock import now_ms
from tau.base.errors import ProviderError
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.base.text import sentence

jiter = late("jiter")
json = late("json")
re = late("re")

PER_TOKENS = 1_000_000  # the unit of prices
FREE = Price()
MAX_DEPTH = 100  # of arguments: more than any tool needs, less than the recursion limit
MAX_CALLS = 128  # of one answer
MAX_CHARS = 16 * MIB  # of one answer, several times what any model can write
PIECE_CHARS = 8  # what a piece counts besides its text, so that empty ones end too
BLOCK_CHARS = 1_000
REJECTED = -1  # the key of a call that a server could not read
TOO_MANY = f"the answer had more than {MAX_CALLS} tool calls, so none of them ran; send fewer at a time"
TOO_DEEP = f"the arguments are nested deeper than {MAX_DEPTH} levels"


class _Prose(Struct):
    """A streaming text or thinking block."""

    thinking: bool
    pieces: list[str] = []
    signature: str | None = None
    data: str | None = None  # a redacted block

    def content(self) -> TextContent | ThinkingContent:
        text = "".join(self.pieces)
        signature = self.signature if self.signature is not None else UNSET
        if not self.thinking:
            return TextContent(text, signature)
        if self.data is not None:
            return ThinkingContent(text, self.data, True)
        return ThinkingContent(text, signature)


class _Call(Struct):
    """A streaming tool call."""

    index: int
    id: str
    name: str
    custom: str = ""
    pieces: list[str] = []
    ended: ToolCall | None = None

    def content(self) -> ToolCall:
        return self.ended or self.call(partial_arguments("".join(self.pieces)))

    def call(self, arguments: dict[str, object], signature: str = "") -> ToolCall:
        return ToolCall(self.id, self.name, arguments, signature or UNSET, self.custom or UNSET)


class Assembler:
    """Feed it deltas; read `message` at any time. `broken` maps unusable calls to the reason."""

    def __init__(self, model: Model, timestamp: int) -> None:
        self._model = model
        self._timestamp = timestamp
        self._blocks: list[_Prose | _Call] = []
        self._open: _Prose | None = None
        self._open_index = -1
        self._calls: dict[int, _Call] = {}
        self._tokens = d.Tokens(0, 0, 0, 0)
        self._answered = d.Answered()
        self._unknown: list[dict[str, object]] = []
        self._chars = 0
        self.done: d.Done | None = None
        self.broken: dict[str, str] = {}

    def feed(self, delta: d.Delta) -> Sequence[e.AssistantMessageEvent]:
        match delta:
            case d.TextPiece(text):
                self._count(text)
                block = self._open
                if block is not None and not block.thinking:
                    block.pieces.append(text)
                    return (e.TextDelta(self._open_index, text),)
                return self._start_prose(text, thinking=False)
            case d.ThinkingPiece(text):
                self._count(text)
                block = self._open
                if block is not None and block.thinking:
                    block.pieces.append(text)
                    return (e.ThinkingDelta(self._open_index, text),)
                return self._start_prose(text, thinking=True)
            case d.CallPiece(key, text):
                self._count(text)
                call = self._calls[key]
                call.pieces.append(text)
                return (e.ToolCallDelta(call.index, text),)
            case d.CallStart(key, id, name, custom):
                self._limit_calls()
                events = [*self._end_prose(), *self._end_overtaken(key)]
                call = self._calls[key] = _Call(len(self._blocks), self._unique_id(id), name, custom)
                self._blocks.append(call)
                return (*events, e.ToolCallStart(call.index, call.id, name))
            case d.CallEnd(key, problem, signature):
                return self._end_call(self._calls[key], problem, signature)
            case d.Signature(signature):
                self._count(signature)
                if self._open is not None:
                    self._open.signature = (self._open.signature or "") + signature
                return ()
            case d.RedactedThinking(data):
                self._count(data)
                events = [*self._end_prose(), *self._start_prose("", thinking=True)]
                assert self._open is not None
                self._open.data = data
                return (*events, *self._end_prose())
            case d.BlockEnd():
                return self._end_prose()
            case d.Tokens() | d.UnknownBlock() | d.Answered():
                self._keep(delta)
                return ()
            case d.Done():
                self.done = delta
                return self.end_blocks()
            case _:
                assert_never(delta)

    def _keep(self, delta: d.Tokens | d.UnknownBlock | d.Answered) -> None:
        """Keep what is recorded with the message but is not part of the answer."""
        if isinstance(delta, d.Tokens):
            self._tokens = _merge_tokens(self._tokens, delta)
        elif isinstance(delta, d.Answered):
            self._answered = delta
        else:
            self._count(delta.json, BLOCK_CHARS)
            self._unknown.append({"index": len(self._blocks), "block": msgspec.json.decode(delta.json)})

    def end_blocks(self) -> Sequence[e.AssistantMessageEvent]:
        """End open blocks, so every start has an end."""
        events = [*self._end_prose()]
        for call in self._calls.values():
            # Some servers forget the end of a call; one without any arguments may not have begun.
            events.extend(self._end_call(call, "" if "".join(call.pieces).strip() else d.CUT_OFF))
        return events

    def reject_call(self, problem: str, tools: Sequence[str]) -> Sequence[e.AssistantMessageEvent]:
        """End the answer with a call that the server could not read, so that the model can correct it.

        Servers rarely say which tool was called: it is the one that `problem` mentions, else the first.
        """
        events = [*self._end_prose()]
        open_calls = [call for call in self._calls.values() if call.ended is None]
        if not open_calls and problem not in self.broken.values():
            named = (r"(?:tool|function|name)\W{1,5}", r"\b")
            found = (tool for before in named for tool in tools if re.search(rf"{before}{tool}\b", problem))
            name = next(found, tools[0])
            events.extend(self.feed(d.CallStart(REJECTED, "", name)))
            open_calls = [self._calls[REJECTED]]
        for call in open_calls:
            events.extend(self._end_call(call, problem))
        return [*events, *self.feed(d.Done("toolUse"))]

    @property
    def stop_reason(self) -> Literal["stop", "length", "toolUse"]:
        """How the answer ended. A pause is a stop: the next request continues."""
        reason = "stop" if self.done is None else self.done.reason
        return "stop" if reason == "pause" else reason

    def message(self, stop_reason: StopReason, error: str | None = None) -> AssistantMessage:
        """The message so far."""
        model = self._model
        tokens = self._tokens
        content: list[AssistantContent] = [block.content() for block in self._blocks]
        return AssistantMessage(
            content=content,
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=compute_usage(tokens, model.cost),
            stop_reason=stop_reason,
            timestamp=self._timestamp,
            error_message=error if error is not None else UNSET,
            address=issuer_address(model.base_url) if self._unknown or is_signed(content) else UNSET,
            response_id=self._answered.response_id or UNSET,
            upstream_provider=self._answered.upstream or UNSET,
            provider_payload=list(self._unknown) or UNSET,
        )

    def _count(self, text: str, more: int = PIECE_CHARS) -> None:
        """Raise ProviderError when an answer does not end."""
        self._chars += len(text) + more
        if self._chars > MAX_CHARS:
            raise ProviderError(f"The answer is longer than {format_bytes(MAX_CHARS)}.")

    def _limit_calls(self) -> None:
        """Raise ProviderError at the first call too many: none of them runs."""
        ids = [block.id for block in self._blocks if isinstance(block, _Call)]
        if len(ids) >= MAX_CALLS:
            self.broken |= dict.fromkeys(ids, TOO_MANY)
            raise ProviderError(sentence(TOO_MANY), bad_call=TOO_MANY)

    def _unique_id(self, id: str) -> str:
        """A unique call id, generated if missing or repeated: results are matched by it."""
        taken = {block.id for block in self._blocks if isinstance(block, _Call)}
        return id if id and id not in taken else new_call_id()

    def _start_prose(self, text: str, *, thinking: bool) -> Sequence[e.AssistantMessageEvent]:
        self._count("", BLOCK_CHARS)
        events = [*self._end_prose()]
        self._open = _Prose(thinking)
        self._open_index = len(self._blocks)
        self._blocks.append(self._open)
        events.append((e.ThinkingStart if thinking else e.TextStart)(self._open_index))
        if text:
            self._open.pieces.append(text)
            events.append((e.ThinkingDelta if thinking else e.TextDelta)(self._open_index, text))
        return events

    def _end_prose(self) -> Sequence[e.AssistantMessageEvent]:
        block, self._open = self._open, None
        if block is None:
            return ()
        text = "".join(block.pieces)
        block.pieces = [text]
        return ((e.ThinkingEnd if block.thinking else e.TextEnd)(self._open_index, text),)

    def _end_overtaken(self, key: int) -> Sequence[e.AssistantMessageEvent]:
        """End the call whose place another one takes: a gateway asked a second server in mid-answer."""
        call = self._calls.get(key)
        return () if call is None else self._end_call(call, d.CUT_OFF)

    def _end_call(self, call: _Call, problem: str, signature: str = "") -> Sequence[e.AssistantMessageEvent]:
        if call.ended is not None:
            return ()
        raw = "".join(call.pieces)
        arguments, invalid = parse_arguments(raw)
        if problem or invalid is not None:
            self.broken[call.id] = problem or str(invalid)
            arguments = partial_arguments(raw)
        call.ended = call.call(arguments, signature)
        return (e.ToolCallEnd(call.index, call.ended),)


def parse_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Parse the arguments of a complete call, or say what is wrong with them.

    Nothing is repaired by guessing: repaired text looks like truncated text, and a truncated
    `write` would lose the rest of a file. Only raw control characters inside strings are tolerated.
    """
    if not raw.strip():
        return {}, None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            value = json.loads(raw, strict=False)
        except ValueError as error:
            return {}, f"the arguments are not valid JSON ({error})"
    except RecursionError:
        return {}, TOO_DEEP
    if not isinstance(value, dict):
        return {}, f"the arguments must be a JSON object, not {type(value).__name__}"
    if raw.count("[") + raw.count("{") > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        return {}, TOO_DEEP
    return value, None


def is_deeper(value: object, depth: int) -> bool:
    """Whether lists and objects are nested more than `depth` times."""
    level = [value]
    while level and depth >= 0:
        depth -= 1
        level = [
            item
            for outer in level
            if isinstance(outer, (dict, list))
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def partial_arguments(raw: str) -> dict[str, object]:
    """Parse as much of incomplete arguments as possible; for display only, never to run."""
    try:
        value = jiter.from_json(raw.encode(), partial_mode="trailing-strings") if raw.strip() else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _merge_tokens(old: d.Tokens, new: d.Tokens) -> d.Tokens:
    known = {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) is not None}
    return replace(old, **known)


def compute_usage(tokens: d.Tokens, price: Price) -> Usage:
    """Compute the usage of one answer. Missing counts are 0 and cost nothing."""
    input = tokens.input or 0
    output = tokens.output or 0
    cache_read = tokens.cache_read or 0
    cache_write = tokens.cache_write or 0
    more = _details(tokens)
    cost = _cost(tokens, price)
    return Usage(input, output, cache_read, cache_write, cost, **more)


def _cost(tokens: d.Tokens, price: Price) -> Cost:
    """At the model's prices, scaled to the server's own figure if it sent one."""
    if price == FREE:
        return Cost() if tokens.cost is None else Cost(total=tokens.cost)
    input, output = tokens.input or 0, tokens.output or 0
    read, write, write_1h = tokens.cache_read or 0, tokens.cache_write or 0, tokens.cache_write_1h or 0
    rates = price.rates(tokens.tier, input + read + write)
    parts = (
        input * rates.input / PER_TOKENS,
        output * rates.output / PER_TOKENS,
        read * rates.cache_read / PER_TOKENS,
        ((write - write_1h) * rates.cache_write + write_1h * (rates.cache_write_1h or rates.cache_write))
        / PER_TOKENS,
    )
    total = sum(parts)
    if tokens.cost is None or not total:
        return Cost(*parts, total=total if tokens.cost is None else tokens.cost)
    scale = tokens.cost / total
    return Cost(parts[0] * scale, parts[1] * scale, parts[2] * scale, parts[3] * scale, tokens.cost)


def _details(tokens: d.Tokens) -> dict[str, Any]:
    """What only some servers count."""
    found: dict[str, object] = {}
    if tokens.reasoning:
        found["reasoning_tokens"] = tokens.reasoning
    if tokens.cache_write_1h:
        found["cttl"] = CacheLifetimes(
            (tokens.cache_write or 0) - tokens.cache_write_1h, tokens.cache_write_1h
        )
    if tokens.cache_miss:
        found["cache_miss"] = tokens.cache_miss
    return found


async def complete(
    stream: Callable[[Model, d.Request], AsyncGenerator[d.Delta, None]], model: Model, request: d.Request
) -> AssistantMessage:
    """One request and its whole answer, for side requests that are not displayed. Raises ProviderError."""
    assembler = Assembler(model, now_ms())
    async with aclosing(stream(model, request)) as deltas:
        async for delta in deltas:
            assembler.feed(delta)
    if assembler.done is None:
        raise ProviderError("The answer is incomplete.", retryable=True)
    return assembler.message(assembler.stop_reason)
