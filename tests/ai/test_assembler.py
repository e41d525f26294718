"""From deltas to the message and its events."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai import dialect as d
from tau.ai.assembler import Assembler, parse_arguments, partial_arguments
from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import TextContent, ThinkingContent, ToolCall


def fed(*deltas: d.Delta) -> tuple[Assembler, list[str]]:
    assembler = Assembler(FAUX_MODEL, 1)
    return assembler, [
        str(event.__struct_config__.tag) for delta in deltas for event in assembler.feed(delta)
    ]


def test_pieces_become_blocks_and_every_start_has_its_end() -> None:
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


def test_two_text_blocks_in_a_row_stay_two() -> None:
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


def test_a_missing_or_repeated_id_is_made_unique() -> None:
    assembler, _ = fed(d.CallStart(0, "", "x"), d.CallStart(1, "a", "x"), d.CallStart(2, "a", "x"))

    ids = [call.id for call in assembler.message("toolUse").tool_calls]
    assert len(set(ids)) == 3 and all(ids)


def test_a_cut_off_call_is_shown_as_far_as_it_came_but_marked_as_broken() -> None:
    assembler, _ = fed(
        d.CallStart(0, "a", "write"), d.CallPiece(0, '{"path":"f","content":"half'), d.Done("length")
    )

    [call] = assembler.message("length").tool_calls
    assert call.arguments == {"path": "f", "content": "half"}
    assert "a" in assembler.broken


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.data())
def test_no_prefix_of_arguments_is_ever_taken_for_the_whole(
    arguments: dict[str, object], data: st.DataObject
) -> None:
    raw = msgspec.json.encode(arguments).decode()
    cut = data.draw(st.integers(1, len(raw) - 1))

    assert parse_arguments(raw) == (arguments, None)
    assert parse_arguments(raw[:cut])[1] is not None
    assert isinstance(partial_arguments(raw[:cut]), dict)


@pytest.mark.parametrize("raw", ["[1]", '"text"', "null", "{'a': 1}", "{"])
def test_what_is_no_object_is_refused(raw: str) -> None:
    assert parse_arguments(raw)[1] is not None


def test_raw_control_characters_inside_strings_are_tolerated() -> None:
    assert parse_arguments('{"text":"a\nb\tc"}') == ({"text": "a\nb\tc"}, None)


def test_usage_is_priced_and_later_counts_win() -> None:
    assembler, _ = fed(d.Tokens(input=5, cache_read=2), d.Tokens(output=7), d.Done("stop"))

    usage = assembler.message("stop").usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (5, 7, 2, 0)
