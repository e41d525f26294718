"""Encodes events as JSON lines, each update with the whole partial message, as the protocol requires.

A message of 20,000 deltas would be encoded 40,000 times. So its JSON is kept and grows with it: a delta is
encoded once and appended to its block. A line is a sequence of pieces, which share that JSON, not copy it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, assert_never

import msgspec
from msgspec import structs

from tau.agent.events import AgentEvent, MessageStart, MessageUpdate, ToolEnd, ToolResult
from tau.ai import stream_events as s
from tau.ai.assembler import partial_arguments
from tau.ai.wire import AssistantMessage, TextContent
from tau.base import secrets
from tau.base.late import late
from tau.base.sizes import KIB
from tau.base.text import escape_json

json = late("json")

ALWAYS_PARSE_BYTES = 2048
PARSE_AGAIN_AT_GROWTH = 1.05
PIECE_BYTES = 2 * KIB  # of a growing text: shorter ones are cheaper to copy than to write separately

_UPDATE, _MESSAGE, _EVENT = b'{"type":"message_update",', b'"message":', b'"assistantMessageEvent":'
_ENDS = (s.StreamDone, s.StreamError)
_HEAD = b'{"role":"assistant","content":['
_encoder = msgspec.json.Encoder(enc_hook=str)


def encode(value: object) -> bytes:
    """One line of JSON for any value: tools may put anything into their details."""
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot encode
        plain = msgspec.to_builtins(value, enc_hook=str, str_keys=True)
        data = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return escape_json(data)


def encode_masked(value: object) -> bytes:
    """The same with secrets masked: what a program prints ends up in logs."""
    return escape_json(secrets.mask_line(encode(value)))


class EventEncoder:
    """One per output, fed with every event in order; tracks the streaming message.

    Without `snapshots`, updates have only their delta. `plain_errors`: the result of a failed call is its
    text, as in the first version of the protocol. With `usage`, updates have the message's token counts.
    """

    def __init__(self, *, snapshots: bool = True, plain_errors: bool = False, usage: bool = False) -> None:
        self._snapshots = snapshots
        self._plain_errors = plain_errors
        self._has_usage = usage
        self._start = _UPDATE
        self._partial = _Partial(b"]}")

    def lines(self, event: AgentEvent) -> Iterator[bytes]:
        """The lines to write for this event, including their ends."""
        return map(b"".join, self.lines_in_pieces(event))

    def lines_in_pieces(self, event: AgentEvent) -> Iterable[Sequence[bytes]]:
        """The same without copying the pieces of each line."""
        return (self.pieces(event),)

    def encode(self, event: AgentEvent) -> bytes:
        """One line, including its end."""
        return b"".join(self.pieces(event))

    def pieces(self, event: AgentEvent) -> Sequence[bytes]:
        """The pieces of one line, including its end."""
        if isinstance(event, MessageUpdate):
            return self._update(event.assistant_message_event)
        if isinstance(event, MessageStart) and isinstance(event.message, AssistantMessage):
            self._partial = _Partial.of(event.message)
            self._start = self._update_start(event.message)
        if isinstance(event, ToolEnd) and event.is_error:
            event = structs.replace(event, result=self._failed_result(event))
        return (encode_masked(event), b"\n")

    def partial(self) -> bytes:
        """The streaming message as far as it has arrived."""
        return b"".join(self._partial.parts())

    def _failed_result(self, event: ToolEnd) -> ToolResult | str:
        if self._plain_errors:
            return event.text
        return ToolResult([TextContent(event.result)]) if isinstance(event.result, str) else event.result

    def _update_start(self, message: AssistantMessage) -> bytes:
        return b'%b"usage":%b,' % (_UPDATE, encode(message.usage)) if self._has_usage else _UPDATE

    def _update(self, event: s.AssistantMessageEvent) -> Sequence[bytes]:
        if isinstance(event, _ENDS):
            message = event.message if isinstance(event, s.StreamDone) else event.error
            parts = [self._update_start(message)]
            if self._snapshots:
                parts += _MESSAGE, encode_masked(message), b","
            return (*parts, _EVENT, encode_masked(event), b"}\n")
        head = self._partial.take(event)
        if not self._snapshots:
            return (b"%b%b%b}}\n" % (self._start, _EVENT, head),)
        begin, *blocks, tail = self._partial.parts()
        start = b"%b%b%b" % (self._start, _MESSAGE, begin)
        middle = b'%b,%b%b,"partial":%b' % (tail, _EVENT, head, begin)
        return (start, *blocks, middle, *blocks, tail, b"}}\n")


Growth: TypeAlias = (
    s.Start
    | s.TextStart
    | s.TextDelta
    | s.TextEnd
    | s.ThinkingStart
    | s.ThinkingDelta
    | s.ThinkingEnd
    | s.ToolCallStart
    | s.ToolCallDelta
    | s.ToolCallEnd
)


class _Partial:
    """The JSON of an unfinished message: the part before its blocks, the blocks, the part after."""

    def __init__(self, tail: bytes) -> None:
        self._tail = tail
        self._blocks: dict[int, _Prose | _Call | bytes] = {}

    @classmethod
    def of(cls, message: AssistantMessage) -> "_Partial":
        empty = encode(structs.replace(message, content=[]))
        assert empty.startswith(_HEAD)
        partial = cls(empty[len(_HEAD) :])
        partial._blocks = {index: encode(block) for index, block in enumerate(message.content)}
        return partial

    def parts(self) -> list[bytes]:
        parts = [_HEAD]
        for block in self._blocks.values():
            if len(parts) > 1:
                parts.append(b",")
            if isinstance(block, bytes):
                parts.append(block)
            else:
                parts.extend(block.parts())
        parts.append(self._tail)
        return parts

    def take(self, event: Growth) -> bytes:
        """Apply an event; returns its JSON without the closing brace."""
        match event:
            case s.TextDelta(index, delta) | s.ThinkingDelta(index, delta):
                block = self._blocks[index]
                assert isinstance(block, _Prose)
                escaped = block.add(delta)
                kind = b"text" if isinstance(event, s.TextDelta) else b"thinking"
                return b'{"type":"%b_delta","contentIndex":%d,"delta":%b' % (kind, index, escaped)
            case s.ToolCallDelta(index, delta):
                call = self._blocks[index]
                assert isinstance(call, _Call)
                escaped = call.add(delta)
                return b'{"type":"toolcall_delta","contentIndex":%d,"delta":%b' % (index, escaped)
            case s.Start():
                return b'{"type":"start"'
            case s.TextStart(index):
                self._blocks[index] = _Prose(b'{"type":"text","text":"')
            case s.ThinkingStart(index):
                self._blocks[index] = _Prose(b'{"type":"thinking","thinking":"')
            case s.ToolCallStart(index, id, name):
                self._blocks[index] = _Call(id, name)
                names = (index, encode(id), encode(name))
                return b'{"type":"toolcall_start","contentIndex":%d,"id":%b,"toolName":%b' % names
            case s.TextEnd(index) | s.ThinkingEnd(index):
                block = self._blocks[index]
                if isinstance(block, _Prose):
                    block.mask()
                    self._blocks[index] = b"".join(block.parts())
            case s.ToolCallEnd(index, tool_call):
                self._blocks[index] = encode_masked(tool_call)
            case _:
                assert_never(event)
        return encode_masked(event)[:-1]


class _Prose:
    """A text or thinking block: its JSON, in pieces that never change, so that earlier lines keep theirs."""

    __slots__ = ("_deltas", "_end", "_head", "_pieces", "_watch")

    def __init__(self, head: bytes) -> None:
        self._head = self._end = head
        self._pieces: list[bytes] = []
        self._deltas: list[str] = []
        self._watch = secrets.SecretWatch()

    def add(self, delta: str) -> bytes:
        """Returns the JSON of the delta, which is empty if it is part of a key."""
        self._deltas.append(delta)
        if self._watch.hides(delta):
            self.mask()
            return b'""'
        escaped = encode(delta)
        self._end += escaped[1:-1]
        if len(self._end) > PIECE_BYTES:
            self._grow()
        return escaped

    def _grow(self) -> None:
        """Join pieces while the last is at least as long as the one before: few pieces, and few copies."""
        end, self._end = self._end, b""
        while self._pieces and len(self._pieces[-1]) <= len(end):
            end = self._pieces.pop() + end
        self._pieces.append(end)

    def mask(self) -> None:
        """Mask the whole text."""
        self._pieces, self._end = [], self._head + encode(secrets.mask("".join(self._deltas)))[1:-1]

    def parts(self) -> tuple[bytes, ...]:
        return (*self._pieces, self._end + b'"}')


class _Call:
    """A tool call whose arguments are streaming.

    Reparsing them for every delta would be quadratic, so long ones are reparsed only after growing by a
    twentieth.
    """

    __slots__ = ("_watch", "arguments", "head", "length", "parsed_length", "raw")

    def __init__(self, id: str, name: str) -> None:
        self.head = b'{"type":"toolCall","id":%b,"name":%b,"arguments":' % (encode(id), encode(name))
        self.arguments = b"{}"
        self.raw: list[str] = []
        self.length = 0
        self.parsed_length = 0
        self._watch = secrets.SecretWatch()

    def add(self, delta: str) -> bytes:
        """Returns the JSON of the delta, which is empty if it is part of a key."""
        has_key = self._watch.hides(delta)
        self.raw.append(delta)
        self.length += len(delta)
        if self.length < ALWAYS_PARSE_BYTES or self.length > self.parsed_length * PARSE_AGAIN_AT_GROWTH:
            self.parsed_length = self.length
            self.raw = ["".join(self.raw)]
            self.arguments = encode_masked(partial_arguments(self.raw[0]))
        return b'""' if has_key else encode(delta)

    def parts(self) -> tuple[bytes, ...]:
        return self.head, self.arguments, b"}"
