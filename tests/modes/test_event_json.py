"""Events as lines of JSON: the shapes of the protocol, and cheap partial messages."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.events import (
    AgentEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    ToolEnd,
    ToolResult,
    ToolStart,
)
from tau.ai import dialect as d
from tau.ai import stream_events as s
from tau.ai.assembler import Assembler
from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import AssistantMessage, TextContent, ToolCall, UserMessage
from tau.modes import event_json
from tau.modes.event_json import ALWAYS_PARSE_BYTES, EventEncoder, encode


class Stream:
    """An answer passing through the assembler and the encoder."""

    def __init__(self) -> None:
        self.assembler = Assembler(FAUX_MODEL, 1733234567891)
        self.encoder = EventEncoder()
        self.encoder.encode(MessageStart(self.assembler.message("stop")))

    def feed(self, *deltas: d.Delta) -> list[dict[str, Any]]:
        return [
            msgspec.json.decode(self.encoder.encode(MessageUpdate(event)))
            for delta in deltas
            for event in self.assembler.feed(delta)
        ]

    @property
    def message(self) -> Any:
        """The current message, encoded from scratch."""
        return msgspec.json.decode(msgspec.json.encode(self.assembler.message("stop")))


texts = st.text(max_size=20)
deltas = st.one_of(
    st.builds(d.TextPiece, texts),
    st.builds(d.ThinkingPiece, texts),
    st.just(d.BlockEnd()),
    st.builds(d.CallStart, st.integers(0, 2), texts, texts),
    st.builds(d.CallPiece, st.integers(0, 2), texts | st.sampled_from(['{"path":', '"a.py"', "}", ',"n":1'])),
)


def possible(given: Iterable[d.Delta]) -> list[d.Delta]:
    """Those a dialect may send: a call starts once, and its deltas follow."""
    known: set[int] = set()
    kept = []
    for delta in given:
        if isinstance(delta, d.CallStart):
            if delta.key in known:
                continue
            known.add(delta.key)
        if isinstance(delta, d.CallPiece) and delta.key not in known:
            continue
        kept.append(delta)
    return kept


@given(st.lists(deltas, max_size=30))
def test_spliced_message_equals_the_message(arriving: list[d.Delta]) -> None:
    stream = Stream()
    for delta in [*possible(arriving), d.Done("stop")]:
        lines = stream.feed(delta)
        if lines:
            last = lines[-1]
            assert last["message"] == stream.message
            assert last["assistantMessageEvent"]["partial"] == stream.message


def test_each_update_has_exactly_the_fields_of_the_protocol() -> None:
    stream = Stream()
    lines = stream.feed(
        d.ThinkingPiece("hm"),
        d.TextPiece("I'll list"),
        d.TextPiece(" the files"),
        d.CallStart(0, "call_1", "bash"),
        d.CallPiece(0, '{"command":"ls'),
        d.CallPiece(0, ' -la"}'),
        d.CallEnd(0),
        d.Done("toolUse"),
    )
    shapes = [
        (
            line["type"],
            {name: value for name, value in line["assistantMessageEvent"].items() if name != "partial"},
        )
        for line in lines
    ]
    call = {"type": "toolCall", "id": "call_1", "name": "bash", "arguments": {"command": "ls -la"}}
    assert [shape for _, shape in shapes] == [
        {"type": "thinking_start", "contentIndex": 0},
        {"type": "thinking_delta", "contentIndex": 0, "delta": "hm"},
        {"type": "thinking_end", "contentIndex": 0, "content": "hm"},
        {"type": "text_start", "contentIndex": 1},
        {"type": "text_delta", "contentIndex": 1, "delta": "I'll list"},
        {"type": "text_delta", "contentIndex": 1, "delta": " the files"},
        {"type": "text_end", "contentIndex": 1, "content": "I'll list the files"},
        {"type": "toolcall_start", "contentIndex": 2, "id": "call_1", "toolName": "bash"},
        {"type": "toolcall_delta", "contentIndex": 2, "delta": '{"command":"ls'},
        {"type": "toolcall_delta", "contentIndex": 2, "delta": ' -la"}'},
        {"type": "toolcall_end", "contentIndex": 2, "toolCall": call},
    ]
    assert {type for type, _ in shapes} == {"message_update"}
    assert all(set(line) == {"type", "message", "assistantMessageEvent"} for line in lines)
    half_way = lines[8]["assistantMessageEvent"]["partial"]["content"][2]["arguments"]
    assert half_way == {"command": "ls"}


def test_start_and_both_ends_of_a_stream_have_their_own_shapes() -> None:
    message = Assembler(FAUX_MODEL, 1).message("stop")
    encoder = EventEncoder()
    encoder.encode(MessageStart(message))
    plain = msgspec.to_builtins(message)
    begin, done, failed = [
        msgspec.json.decode(encoder.encode(MessageUpdate(event)))
        for event in (s.Start(), s.StreamDone("stop", message), s.StreamError("aborted", message))
    ]
    assert begin["assistantMessageEvent"] == {"type": "start", "partial": plain}
    assert done["assistantMessageEvent"] == {"type": "done", "reason": "stop", "message": plain}
    assert failed["assistantMessageEvent"] == {"type": "error", "reason": "aborted", "error": plain}
    assert begin["message"] == done["message"] == failed["message"] == plain


def test_encoding_costs_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []

    def counted(value: Any) -> bytes:
        data = encode(value)
        encoded.append(len(data))
        return data

    stream = Stream()
    monkeypatch.setattr(event_json, "encode", counted)
    pieces = 2000
    for _ in range(pieces):
        stream.feed(d.TextPiece("twenty characters, ok"))
    assert len(stream.message["content"][0]["text"]) == pieces * 21
    assert sum(encoded) < pieces * 100


def test_long_arguments_are_parsed_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = event_json.partial_arguments

    def counted(raw: str) -> dict[str, Any]:
        read.append(len(raw))
        return original(raw)

    monkeypatch.setattr(event_json, "partial_arguments", counted)
    stream = Stream()
    stream.feed(d.CallStart(0, "c", "write"), d.CallPiece(0, '{"path":"a","content":"'))
    pieces = 2000
    for _ in range(pieces):
        (line,) = stream.feed(d.CallPiece(0, "x" * 50))
    shown = len(line["message"]["content"][0]["arguments"]["content"])
    assert shown > pieces * 50 * 0.9
    long_reads = [length for length in read if length > ALWAYS_PARSE_BYTES]
    assert sum(long_reads) < 25 * pieces * 50
    (end,) = stream.feed(d.CallPiece(0, '"}'), d.CallEnd(0))[1:]
    assert len(end["message"]["content"][0]["arguments"]["content"]) == pieces * 50


def test_any_event_is_a_single_line() -> None:
    nasty = "a\nb\r\u2028c\u2029d\u0085e\x0bf\x1cg\ud800h\U0001f600"
    events: list[AgentEvent] = [
        MessageStart(UserMessage(nasty, 1)),
        MessageEnd(UserMessage([TextContent(nasty)], 1)),
        ToolStart("id", "bash", {nasty: {"deep": [nasty]}}),
        ToolEnd("id", "bash", nasty, True),
        Notice("warning", nasty),
    ]
    encoder = EventEncoder()
    for event in events:
        data = encoder.encode(event)
        assert data.decode().splitlines() == [data.decode().removesuffix("\n")]
        assert "h\U0001f600" in msgspec.json.encode(msgspec.json.decode(data)).decode()


def test_nasty_characters_survive_in_updates() -> None:
    stream = Stream()
    lines = stream.feed(d.TextPiece('"\\\n\u2028'), d.TextPiece("\ud83d"), d.TextPiece("</x>é"))
    assert lines[-1]["message"]["content"][0]["text"] == '"\\\n\u2028?</x>é'


def test_result_is_an_object_or_plain_text_in_the_first_version() -> None:
    encoder = EventEncoder()
    good = ToolEnd("c", "read", ToolResult([TextContent("x")], {"path": Path("/a")}), False)
    bad = ToolEnd("c", "read", "no such file", True)
    bare = ToolEnd("c", "read", ToolResult([TextContent("x")]), False)
    results = [msgspec.json.decode(encoder.encode(event)) for event in (good, bad, bare)]
    assert results[0] == {
        "type": "tool_execution_end",
        "toolCallId": "c",
        "toolName": "read",
        "result": {"content": [{"type": "text", "text": "x"}], "details": {"path": "/a"}},
        "isError": False,
    }
    assert results[1]["result"] == {"content": [{"type": "text", "text": "no such file"}]}
    first = EventEncoder(plain_errors=True)
    assert msgspec.json.decode(first.encode(bad))["result"] == "no such file"
    assert results[2]["result"] == {"content": [{"type": "text", "text": "x"}]}


def test_message_that_starts_with_content_keeps_it() -> None:
    call = ToolCall("c", "read", {"path": "a"})
    empty = Assembler(FAUX_MODEL, 1).message("stop")
    message = msgspec.structs.replace(empty, content=[TextContent("before"), call])
    encoder = EventEncoder()
    encoder.encode(MessageStart(message))
    encoder.encode(MessageUpdate(s.TextStart(2)))
    line = encoder.encode(MessageUpdate(s.TextDelta(2, "after")))
    decoded = msgspec.json.decode(
        msgspec.json.encode(msgspec.json.decode(line)["message"]), type=AssistantMessage
    )
    assert decoded.content == [TextContent("before"), call, TextContent("after")]
