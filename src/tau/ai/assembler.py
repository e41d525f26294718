"""Builds the assistant message from a dialect's deltas and emits its events."""

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec
from msgspec import UNSET

from tau.ai import dialect as d
from tau.ai import stream_events as e
from tau.ai.cost import priced
from tau.ai.model import Model
from tau.ai.wire import (
    AssistantContent,
    AssistantMessage,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    new_call_id,
)
from tau.base.late import late

jiter = late("jiter")
json = late("json")

MAX_DEPTH = 100  # of arguments: more than any tool needs, less than the recursion limit
TOO_DEEP = f"the arguments are nested deeper than {MAX_DEPTH} levels"


class _Prose:
    """A streaming text or thinking block."""

    __slots__ = ("data", "pieces", "signature", "thinking")

    def __init__(self, thinking: bool) -> None:
        self.thinking = thinking
        self.pieces: list[str] = []
        self.signature: str | None = None
        self.data: str | None = None  # a redacted block

    def content(self) -> TextContent | ThinkingContent:
        text = "".join(self.pieces)
        signature = self.signature if self.signature is not None else UNSET
        if not self.thinking:
            return TextContent(text, signature)
        if self.data is not None:
            return ThinkingContent(text, self.data, True)
        return ThinkingContent(text, signature)


class _Call:
    """A streaming tool call."""

    __slots__ = ("ended", "id", "index", "name", "pieces")

    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.pieces: list[str] = []
        self.ended: ToolCall | None = None

    def content(self) -> ToolCall:
        return self.ended or ToolCall(self.id, self.name, partial_arguments("".join(self.pieces)))


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
        self.done: d.Done | None = None
        self.broken: dict[str, str] = {}

    def feed(self, delta: d.Delta) -> Sequence[e.AssistantMessageEvent]:
        match delta:
            case d.TextPiece(text):
                block = self._open
                if block is not None and not block.thinking:
                    block.pieces.append(text)
                    return (e.TextDelta(self._open_index, text),)
                return self._start_prose(text, thinking=False)
            case d.ThinkingPiece(text):
                block = self._open
                if block is not None and block.thinking:
                    block.pieces.append(text)
                    return (e.ThinkingDelta(self._open_index, text),)
                return self._start_prose(text, thinking=True)
            case d.CallPiece(key, text):
                call = self._calls[key]
                call.pieces.append(text)
                return (e.ToolCallDelta(call.index, text),)
            case d.CallStart(key, id, name):
                events = self._end_prose()
                call = self._calls[key] = _Call(len(self._blocks), self._unique(id), name)
                self._blocks.append(call)
                return (*events, e.ToolCallStart(call.index, call.id, name))
            case d.CallEnd(key):
                return self._end_call(self._calls[key])
            case d.Signature(signature):
                if self._open is not None:
                    self._open.signature = (self._open.signature or "") + signature
                return ()
            case d.RedactedThinking(data):
                events = [*self._end_prose(), *self._start_prose("", thinking=True)]
                assert self._open is not None
                self._open.data = data
                return (*events, *self._end_prose())
            case d.BlockEnd():
                return self._end_prose()
            case d.Tokens():
                self._tokens = _merged(self._tokens, delta)
                return ()
            case d.Done():
                self.done = delta
                return self.end_blocks()
            case _:
                assert_never(delta)

    def end_blocks(self) -> Sequence[e.AssistantMessageEvent]:
        """End open blocks, so every start has an end."""
        events = [*self._end_prose()]
        for call in self._calls.values():
            if call.ended is None:
                events.extend(self._end_call(call))
        return events

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
            usage=priced(tokens, model.cost),
            stop_reason=stop_reason,
            timestamp=self._timestamp,
            error_message=error if error is not None else UNSET,
        )

    def _unique(self, id: str) -> str:
        """A unique call id, generated if missing or repeated: results are matched by it."""
        taken = {block.id for block in self._blocks if isinstance(block, _Call)}
        return id if id and id not in taken else new_call_id()

    def _start_prose(self, text: str, *, thinking: bool) -> Sequence[e.AssistantMessageEvent]:
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

    def _end_call(self, call: _Call) -> Sequence[e.AssistantMessageEvent]:
        if call.ended is not None:
            return ()
        raw = "".join(call.pieces)
        arguments, problem = parse_arguments(raw)
        if problem is not None:
            self.broken[call.id] = problem
            arguments = partial_arguments(raw)
        call.ended = ToolCall(call.id, call.name, arguments)
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


def is_deeper(value: Any, depth: int) -> bool:
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


def partial_arguments(raw: str) -> dict[str, Any]:
    """Parse as much of incomplete arguments as possible; for display only, never to run."""
    try:
        value = jiter.from_json(raw.encode(), partial_mode="trailing-strings") if raw.strip() else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _merged(old: d.Tokens, new: d.Tokens) -> d.Tokens:
    return d.Tokens(
        old.input if new.input is None else new.input,
        old.output if new.output is None else new.output,
        old.cache_read if new.cache_read is None else new.cache_read,
        old.cache_write if new.cache_write is None else new.cache_write,
    )
