"""From deltas to the message and its events."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai import dialect as d
from tau.ai.assembler import Assembler, parse_arguments, partial_arguments
from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import TextContent, ThinkingContent, ToolCall
from tau.base.errors import ProviderError


def fed(*deltas: d.Delta) -> tuple[Assembler, list[str]]:
    assembler = Assembler(FAUX_MODEL, 1)
    return assembler, [
        str(event.__struct_config__.tag) for delta in deltas for event in assembler.feed(delta)
    ]


def test_deltas_become_blocks_and_every_start_has_its_end() -> None:
    assembler, events = fed(
        d.ThinkingPiece("hm"),
        d.Signature("si"),
        d.Signature("g"),
        d.TextPiece("Hel"),
        d.TextPiece("lo"),
        d.CallStart(7, "id1", "read"),
        d.CallPiece(7, '{"path":'),
        d.CallPiece(7, '"a"}'),
        d.CallEnd(7),
        d.TextPiece("bye"),
        d.Done("toolUse"),
    )

    assert assembler.message("toolUse").content == [
        ThinkingContent("hm", "sig"),
        TextContent("Hello"),
        ToolCall("id1", "read", {"path": "a"}),
        TextContent("bye"),
    ]
    assert events == [
        *("thinking_start", "thinking_delta", "thinking_end"),
        *("text_start", "text_delta", "text_delta", "text_end"),
        *("toolcall_start", "toolcall_delta", "toolcall_delta", "toolcall_end"),
        *("text_start", "text_delta", "text_end"),
    ]


def test_consecutive_text_blocks_stay_separate() -> None:
    assembler, _ = fed(d.TextPiece("a"), d.BlockEnd(), d.TextPiece("b"), d.Done("stop"))

    assert assembler.message("stop").content == [TextContent("a"), TextContent("b")]


def test_redacted_thinking_is_kept_for_the_provider() -> None:
    assembler, _ = fed(d.RedactedThinking("xyz"), d.TextPiece("a"), d.Done("stop"))

    assert assembler.message("stop").content[0] == ThinkingContent("", "xyz", True)


def test_calls_may_arrive_interleaved() -> None:
    assembler, _ = fed(
        d.CallStart(0, "a", "x"),
        d.CallStart(1, "b", "y"),
        d.CallPiece(1, "{}"),
        d.CallPiece(0, '{"n":1}'),
        d.Done("toolUse"),
    )

    assert assembler.message("toolUse").tool_calls == [ToolCall("a", "x", {"n": 1}), ToolCall("b", "y", {})]


ENDLESS = {
    "text": [d.TextPiece("a" * 10_000)],
    "thinking": [d.ThinkingPiece("a" * 10_000)],
    "empty pieces": [d.TextPiece("")],
    "arguments": [d.CallPiece(0, "a" * 10_000)],
    "signature": [d.ThinkingPiece(""), d.Signature("a" * 10_000)],
    "empty blocks": [d.TextPiece(""), d.BlockEnd()],
    "redacted": [d.RedactedThinking("")],
    "unknown": [d.UnknownBlock("{}")],
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_server_that_never_stops_writing_is_cut_off(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("tau.ai.assembler.MAX_CHARS", 32 * 1024)
    assembler, _ = fed(d.CallStart(0, "a", "x"))

    with pytest.raises(ProviderError, match="longer than 32 KiB"):
        for delta in ENDLESS[kind] * 5_000:
            assembler.feed(delta)
    assert assembler.message("error").content


def test_missing_or_repeated_id_is_made_unique() -> None:
    assembler, _ = fed(d.CallStart(0, "", "x"), d.CallStart(1, "a", "x"), d.CallStart(2, "a", "x"))

    ids = [call.id for call in assembler.message("toolUse").tool_calls]
    assert len(set(ids)) == 3 and all(ids)


def test_truncated_call_is_shown_as_far_as_it_came_but_marked_broken() -> None:
    assembler, _ = fed(
        d.CallStart(0, "a", "write"), d.CallPiece(0, '{"path":"f","content":"half'), d.Done("length")
    )

    [call] = assembler.message("length").tool_calls
    assert call.arguments == {"path": "f", "content": "half"}
    assert "a" in assembler.broken


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.data())
def test_prefix_of_arguments_is_never_mistaken_for_the_whole(
    arguments: dict[str, object], data: st.DataObject
) -> None:
    raw = msgspec.json.encode(arguments).decode()
    cut = data.draw(st.integers(1, len(raw) - 1))

    assert parse_arguments(raw) == (arguments, None)
    assert parse_arguments(raw[:cut])[1] is not None
    assert isinstance(partial_arguments(raw[:cut]), dict)


@pytest.mark.parametrize("raw", ["[1]", '"text"', "null", "{'a': 1}", "{"])
def test_non_object_arguments_are_refused(raw: str) -> None:
    assert parse_arguments(raw)[1] is not None


def test_raw_control_characters_inside_strings_are_tolerated() -> None:
    assert parse_arguments('{"text":"a\nb\tc"}') == ({"text": "a\nb\tc"}, None)


def test_usage_is_priced_and_later_counts_win() -> None:
    assembler, _ = fed(d.Tokens(input=5, cache_read=2), d.Tokens(output=7), d.Done("stop"))

    usage = assembler.message("stop").usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (5, 7, 2, 0)


def test_events_carry_their_block_index() -> None:
    assembler = Assembler(FAUX_MODEL, 1)
    deltas = [
        d.TextPiece("a"),
        d.CallStart(0, "x", "t"),
        d.CallPiece(0, "{}"),
        d.ThinkingPiece("b"),
        d.ThinkingPiece("c"),
        d.BlockEnd(),
        d.TextPiece("d"),
        d.Done("stop"),
    ]
    events = [event for delta in deltas for event in assembler.feed(delta)]
    assert [(str(event.__struct_config__.tag), event.content_index) for event in events] == [
        *(("text_start", 0), ("text_delta", 0), ("text_end", 0)),
        *(("toolcall_start", 1), ("toolcall_delta", 1)),
        *(("thinking_start", 2), ("thinking_delta", 2), ("thinking_delta", 2), ("thinking_end", 2)),
        *(("text_start", 3), ("text_delta", 3), ("text_end", 3), ("toolcall_end", 1)),
    ]


def test_call_ends_once_and_a_signature_without_a_block_is_dropped() -> None:
    assembler, events = fed(
        d.Signature("of nothing"),
        d.CallStart(0, "a", "x"),
        d.CallEnd(0),
        d.CallEnd(0),
        d.Done("toolUse"),
    )
    assert events == ["toolcall_start", "toolcall_end"]
    assert assembler.message("toolUse").content == [ToolCall("a", "x", {})]
    assert assembler.broken == {}


def test_alternating_thinking_and_text_are_separate_blocks() -> None:
    assembler, events = fed(d.TextPiece("a"), d.ThinkingPiece("b"), d.TextPiece(""), d.Done("stop"))
    assert assembler.message("stop").content == [TextContent("a"), ThinkingContent("b"), TextContent("")]
    assert events[-2:] == ["text_start", "text_end"]


@pytest.mark.parametrize("raw", ["", "  \n"])
def test_no_arguments_are_an_empty_object(raw: str) -> None:
    assert parse_arguments(raw) == ({}, None)
    assert partial_arguments(raw) == {}


@pytest.mark.parametrize("raw", ["nonsense", "[1, 2", '"text"'])
def test_unparsable_partial_arguments_are_empty(raw: str) -> None:
    assert partial_arguments(raw) == {}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_arguments_are_at_most_a_hundred_levels_deep(opening: str, closing: str) -> None:
    def nested(depth: int) -> str:
        inner = depth - 1  # the object itself is the first
        return '{"a":' + opening * inner + "1" + closing * inner + "}"

    assert parse_arguments(nested(100))[1] is None
    assert parse_arguments(nested(101)) == ({}, "the arguments are nested deeper than 100 levels")
    assert parse_arguments(nested(100_000))[1] is not None
    wide = '{"a":[' + ",".join(["[]"] * 200) + "]}"
    assert parse_arguments(wide)[1] is None


def test_missing_counts_are_zero() -> None:
    assembler, _ = fed(d.Done("stop"))
    usage = assembler.message("stop").usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (0, 0, 0, 0)
    assembler, _ = fed(d.Tokens(1, 2, 3, 4), d.Tokens(cache_write=9), d.Done("stop"))
    usage = assembler.message("stop").usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (1, 2, 3, 9)
