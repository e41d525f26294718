"""The dialect `openai-completions`, over a real socket, with the quirks of its implementations."""

import asyncio
import json
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.model import Compat
from tau.ai.wire import TextContent, ThinkingContent, ToolCall
from tests.ai.dialect_client import (
    answer,
    conversation,
    failed,
    leave_in_the_middle,
    message,
    model,
    stream_of,
    talk,
)
from tests.support.fake_answers import (
    Answer,
    Call,
    CutConnection,
    ErrorEvent,
    InvalidUtf8,
    NotJson,
    Overflow,
    Raw,
    Scriptable,
    Status,
    Text,
    Thinking,
    TruncatedEvent,
    Usage,
)
from tests.support.fake_server import FakeServer

GPT = model("openai-completions", input=("text", "image"))


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def calls(*parts: dict[str, Any]) -> str:
    return chunk({"tool_calls": list(parts)})


def part(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def read_deltas(*events: str, compat: Compat | None = None) -> list[d.Delta]:
    speaker = GPT if compat is None else model("openai-completions", compat=compat)
    return answer(speaker, stream_of(*events))


def called(*events: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    """The calls of a stream that ends properly: names and arguments."""
    deltas = read_deltas(*events, chunk({}, "tool_calls"), "[DONE]", **more)
    assert deltas[-1] == d.Done("toolUse")
    content = message(GPT, deltas).tool_calls
    assert len({call.id for call in content}) == len(content)
    assert all(call.id for call in content)
    return [(call.name, call.arguments) for call in content]


def test_text_streams_in_deltas_and_ends_once() -> None:
    deltas = answer(GPT, Text("Hello, dear world.", deltas=3))
    pieces = [delta.text for delta in deltas if isinstance(delta, d.TextPiece)]
    assert len(pieces) == 3
    assert "".join(pieces) == "Hello, dear world."
    assert deltas[-1] == d.Done("stop")
    assert deltas.count(d.Done("stop")) == 1


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_under_several_field_names(field: str) -> None:
    deltas = read_deltas(
        chunk({field: "Hm, ", "content": None}),
        chunk({field: "yes.", "content": ""}),
        chunk({"content": "Done."}),
        chunk({}, "stop"),
        "[DONE]",
    )
    assert message(GPT, deltas).content == [ThinkingContent("Hm, yes."), TextContent("Done.")]


def choice(index: int | None, text: str, finish: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": {"content": text}, "finish_reason": finish}


@pytest.mark.parametrize(
    "chunks",
    [
        [[choice(1, "other", "stop"), choice(0, "mine", "stop")]],
        [[choice(0, "mi")], [choice(1, "other", "length")], [choice(0, "ne", "stop")]],
        [[choice(1, "oth"), choice(0, "mi")], [choice(1, "er", "length")], [choice(0, "ne", "stop")]],
        [[choice(None, "mi")], [choice(None, "ne", "stop")]],
        [[choice(1, "mi")], [choice(1, "ne", "stop")]],
    ],
    ids=["one chunk", "alternating", "both", "no index", "counted from 1"],
)
def test_several_choices_were_mixed_into_one_answer(chunks: list[list[dict[str, Any]]]) -> None:
    deltas = read_deltas(*(json.dumps({"choices": choices}) for choices in chunks), "[DONE]")
    assert message(GPT, deltas).content == [TextContent("mine")]
    assert deltas[-1] == d.Done("stop")


def test_whole_answer_is_the_choice_with_the_lowest_index() -> None:
    choices = [
        {"index": index, "message": {"content": text}, "finish_reason": "stop"}
        for index, text in ((1, "other"), (0, "mine"))
    ]
    deltas = answer(GPT, Raw(json.dumps({"choices": choices}), 200, "application/json"))
    assert message(GPT, deltas).content == [TextContent("mine")]


def test_thinking_under_two_field_names_is_taken_once() -> None:
    deltas = read_deltas(
        chunk({"reasoning_content": "Hm.", "reasoning": "Hm."}), chunk({"content": "x"}, "stop")
    )
    assert message(GPT, deltas).content == [ThinkingContent("Hm."), TextContent("x")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_beside_text_is_kept(field: str) -> None:
    deltas = read_deltas(chunk({field: "Hm.", "content": "Yes."}), chunk({}, "stop"))
    assert message(GPT, deltas).content == [ThinkingContent("Hm."), TextContent("Yes.")]


def test_empty_thinking_field_does_not_hide_another() -> None:
    deltas = read_deltas(
        chunk({"reasoning_content": "", "reasoning": "Hm."}), chunk({"content": "x"}, "stop")
    )
    assert message(GPT, deltas).content == [ThinkingContent("Hm."), TextContent("x")]
    assert d.ThinkingPiece("") not in read_deltas(chunk({"reasoning": "", "content": []}), chunk({}, "stop"))


def test_content_may_be_a_list_of_parts() -> None:
    nothing = [{"type": "text", "text": ""}, {"type": "text", "text": 5}]
    thinking = {"type": "thinking", "thinking": [*nothing, {"type": "text", "text": "Hm."}], "signature": 5}
    deltas = read_deltas(
        chunk({"content": [thinking]}),
        chunk({"content": [*nothing, {"type": "text", "text": "Yes."}, "?", {"type": "reference"}]}),
        chunk({}, "stop"),
    )
    assert deltas[:2] == [d.ThinkingPiece("Hm."), d.TextPiece("Yes.")]
    assert message(GPT, deltas).content == [ThinkingContent("Hm."), TextContent("Yes.")]


def test_refusal_text_is_text() -> None:
    assert message(GPT, read_deltas(chunk({"refusal": "I cannot."}), chunk({}, "stop"))).text == "I cannot."


def test_thinking_and_text_of_the_fake_server() -> None:
    deltas = answer(GPT, [Thinking("Hm."), Text("Yes.")])
    assert message(GPT, deltas).content == [ThinkingContent("Hm."), TextContent("Yes.")]


def test_call_streams_in_deltas() -> None:
    deltas = answer(GPT, [Text("Reading."), Call("read", {"path": "a/b.py"}, id="call_7", deltas=4)])
    assert len([delta for delta in deltas if isinstance(delta, d.CallPiece)]) == 4
    assert message(GPT, deltas).content == [
        TextContent("Reading."),
        ToolCall("call_7", "read", {"path": "a/b.py"}),
    ]
    assert deltas[-1] == d.Done("toolUse")


def test_several_calls_in_one_answer_stay_separate() -> None:
    scripted = [Call("read", {"path": name}, id=f"t{name}") for name in "abc"]
    assert message(GPT, answer(GPT, scripted)).content == [
        ToolCall(f"t{name}", "read", {"path": name}) for name in "abc"
    ]


def test_interleaved_calls_stay_separate() -> None:
    assert called(
        calls(part("a", "", index=0, id="1"), part("b", "", index=1, id="2")),
        calls(part(None, '{"x":', index=1)),
        calls(part(None, '{"y":', index=0)),
        calls(part(None, "1}", index=0), part(None, "2}", index=1)),
    ) == [("a", {"y": 1}), ("b", {"x": 2})]


def test_call_may_come_whole_with_arguments_as_an_object() -> None:
    assert called(calls(part("a", {"x": [1]}, index=0, id="1"))) == [("a", {"x": [1]})]
    assert called(calls(part("a", '{"x":1}', index=0, id="1"))) == [("a", {"x": 1})]
    assert called(calls(part("a", None, index=0, id="1"))) == [("a", {})]


def test_calls_without_an_index_are_separated_by_id() -> None:
    assert called(
        calls(part("a", '{"x":', id="1")),
        calls(part(None, "1}", id="1")),
        calls(part("a", '{"x":2}', id="2")),
    ) == [("a", {"x": 1}), ("a", {"x": 2})]


def test_calls_without_index_and_id_are_separated_by_name_and_end() -> None:
    assert called(
        calls(part("a", '{"x":')),
        calls(part(None, "1}")),
        calls(part("b", '{"x":2}')),
        calls(part("b", '{"x":3}')),
    ) == [("a", {"x": 1}), ("b", {"x": 2}), ("b", {"x": 3})]


def test_id_and_name_may_be_repeated_in_every_chunk() -> None:
    assert called(
        calls(part("a", '{"x":', index=0, id="1")),
        calls(part("a", '"y"', index=0, id="1")),
        calls(part("a", "}", index=0, id="1")),
    ) == [("a", {"x": "y"})]
    assert called(calls(part("a", '{"x":')), calls(part("a", "1}"))) == [("a", {"x": 1})]


def test_whole_calls_all_claiming_index_0_are_separated() -> None:
    assert called(
        calls(part("a", '{"x":1}', index=0, id="1")),
        calls(part("a", '{"x":2}', index=0, id="2")),
    ) == [("a", {"x": 1}), ("a", {"x": 2})]


def test_id_that_changes_with_every_delta_is_not_a_new_call() -> None:
    assert called(
        calls(part("a", "", index=0, id="1")),
        calls(part(None, '{"x":', index=0, id="2")),
        calls(part(None, "1}", index=0, id="3")),
    ) == [("a", {"x": 1})]


def test_name_may_come_late_or_never() -> None:
    assert called(
        calls(part(None, '{"x":', index=0, id="1")),
        calls(part("a", "1}", index=0)),
    ) == [("a", {"x": 1})]
    assert called(calls(part(None, "{}", index=0, id="1"))) == [("", {})]


def test_ids_may_be_numbers() -> None:
    assert called(calls(part("a", "{}", index=0, id=7))) == [("a", {})]
    deltas = read_deltas(calls(part("a", "{}", index=0, id=7)), chunk({}, "stop"))
    assert message(GPT, deltas).tool_calls[0].id == "7"


def test_legacy_function_calls_are_supported() -> None:
    assert called(
        chunk({"function_call": {"name": "a", "arguments": '{"x"'}}),
        chunk({"function_call": {"arguments": ":1}"}}),
    ) == [("a", {"x": 1})]


def test_only_the_first_call_is_kept_if_the_server_cannot_stop() -> None:
    assert called(
        calls(part("a", "{}", index=0, id="1"), part("b", "{", index=1, id="2")),
        calls(part(None, "}", index=1)),
        compat=Compat(first_tool_call_only=True),
    ) == [("a", {})]


def test_thinking_beside_a_call_is_kept() -> None:
    deltas = read_deltas(
        chunk({"reasoning": "Hm.", "tool_calls": [part("a", "{}", index=0, id="1")]}),
        chunk({"reasoning": "So.", "tool_calls": []}),
        chunk({}, "tool_calls"),
    )
    assert [delta.text for delta in deltas if isinstance(delta, d.ThinkingPiece)] == ["Hm.", "So."]


def test_empty_chunks_are_ignored() -> None:
    deltas = read_deltas(
        "{}",
        '{"choices":null}',
        '{"choices":[]}',
        chunk(None),
        chunk({}),
        chunk({"role": "assistant", "content": None}),
        chunk({"content": "x", "tool_calls": None}),
        "",
        '{"choices":[{"finish_reason":"stop"}]}',
        '{"choices":[],"usage":null}',
        "[DONE]",
    )
    assert deltas == [d.TextPiece("x"), d.Done("stop")]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("end", "stop"),
        ("a_new_word", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("tool_calls", "stop"),
    ],
)
def test_finish_reasons(finish: str, reason: Any) -> None:
    assert read_deltas(chunk({"content": "x"}), chunk({}, finish), "[DONE]")[-1] == d.Done(reason)


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos"])
def test_calls_are_run_whatever_the_finish_reason_says(finish: str) -> None:
    assert read_deltas(calls(part("a", "{}", index=0, id="1")), chunk({}, finish))[-1] == d.Done("toolUse")


def test_call_truncated_by_the_length_limit_is_reported() -> None:
    deltas = answer(GPT, Call("write", {"path": "a", "content": "long"}, cut_at=12))
    assert deltas[-1] == d.Done("length")


@pytest.mark.parametrize("finish", ["content_filter", "sensitive"])
def test_filtered_answer_is_a_fatal_error(finish: str) -> None:
    error = failed(GPT, stream_of(chunk({"content": "x"}), chunk({}, finish), "[DONE]"))
    assert not error.retryable
    assert "content filter" in str(error)


@pytest.mark.parametrize("finish", ["error", "network_error", "insufficient_system_resource"])
def test_answer_that_finished_with_a_server_error_is_retryable(finish: str) -> None:
    error = failed(GPT, stream_of(chunk({"content": "x"}), chunk({}, finish), "[DONE]"))
    assert error.retryable
    assert finish in str(error)


def tokens(usage: dict[str, Any]) -> tuple[int, int, int, int]:
    deltas = read_deltas(chunk({"content": "x"}), chunk({}, "stop"), json.dumps({"usage": usage}), "[DONE]")
    counted = message(GPT, deltas).usage
    return counted.input, counted.output, counted.cache_read, counted.cache_write


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, (100, 7, 0, 0)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 80}},
            (20, 7, 80, 0),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            },
            (10, 7, 60, 30),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 64}, (36, 7, 64, 0)),
        ({"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 50}, (50, 7, 50, 0)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            (100, 50, 0, 0),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150}, (100, 50, 0, 0)),
        ({"prompt_tokens": 100, "completion_tokens": None, "prompt_tokens_details": None}, (100, 0, 0, 0)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, (0, 0, 99, 0)),
        ({"prompt_tokens": "many"}, (0, 0, 0, 0)),
        ({"prompt_tokens": 1, "completion_tokens": 1}, (1, 1, 0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": 1.9}, (0, 1, 0, 0)),
    ],
)
def test_usage_is_found_in_every_known_place(
    usage: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    assert tokens(usage) == expected


def test_usage_in_the_same_chunk_as_the_choice_counts() -> None:
    end = (
        '{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":6}}]}'
    )
    usage = message(GPT, read_deltas(chunk({"content": "x"}), end)).usage
    assert (usage.input, usage.output) == (5, 6)


def test_usage_in_every_chunk_does_not_swallow_the_text() -> None:
    deltas = read_deltas(
        chunk({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 1}),
        chunk({"content": "b"}, "stop", usage={"prompt_tokens": 5, "completion_tokens": 2}),
    )
    assert message(GPT, deltas).text == "ab"
    assert message(GPT, deltas).usage.output == 2


def test_usage_in_a_text_chunk_that_is_not_the_last_counts() -> None:
    deltas = read_deltas(
        chunk({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 1}), chunk({}, "stop")
    )
    assert (message(GPT, deltas).text, message(GPT, deltas).usage.input) == ("a", 5)


def test_usage_of_the_fake_server() -> None:
    deltas = answer(GPT, Answer((Text("x"),), Usage(input=7, output=9, cache_read=1000)))
    usage = message(GPT, deltas).usage
    assert (usage.input, usage.output, usage.cache_read) == (7, 9, 1000)


def test_answer_may_end_without_done_marker() -> None:
    assert read_deltas(chunk({"content": "x"}), chunk({}, "stop")) == [d.TextPiece("x"), d.Done("stop")]


def test_answer_may_end_with_done_marker_alone() -> None:
    assert read_deltas(chunk({"content": "x"}), "[DONE]") == [d.TextPiece("x"), d.Done("stop")]


def test_connection_lost_after_the_finish_does_no_harm() -> None:
    events = 3 + 1  # the role, two words, the finish; then usage and the end marker are missing
    whole = Answer((Text("two words", deltas=2),))
    deltas = answer(GPT, CutConnection(after_events=events, of=whole))
    assert message(GPT, deltas).text == "two words"
    assert deltas[-1] == d.Done("stop")


def test_answer_without_any_end_was_cut_off() -> None:
    error = failed(GPT, stream_of(chunk({"content": "x"})))
    assert error.retryable
    assert str(error) == "The answer from acme was cut off."


@pytest.mark.parametrize(
    "fault", [CutConnection(), CutConnection(after_events=0), TruncatedEvent(), NotJson()]
)
def test_damaged_answer_is_retryable(fault: Scriptable) -> None:
    assert failed(GPT, fault).retryable


def test_invalid_byte_costs_one_character() -> None:
    text = message(GPT, answer(GPT, InvalidUtf8("cafe noir"))).text
    assert text.startswith("ca\ufffd")
    assert text.endswith("noir")


def test_error_in_mid_stream_keeps_the_vendors_message() -> None:
    error = failed(GPT, ErrorEvent(kind="server_error", message="It broke."))
    assert error.retryable
    assert str(error) == "acme aborted its answer: It broke."
    error = failed(GPT, stream_of(chunk({"content": "x"}), '{"error":{"code":400,"message":"Bad tool."}}'))
    assert not error.retryable
    assert "Bad tool." in str(error)
    assert failed(GPT, stream_of('{"object":"error","message":"No."}')).retryable


def test_rate_limit_says_how_long_to_wait() -> None:
    error = failed(GPT, Status(429, "Slow down.", retry_after="17"))
    assert (error.status, error.retryable, error.retry_after) == (429, True, 17)


def test_exhausted_credit_is_not_a_rate_limit() -> None:
    body = {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}
    assert not failed(GPT, Status(429, body=body)).retryable


@pytest.mark.parametrize("status", [500, 502, 529])
def test_server_error_is_retryable(status: int) -> None:
    assert failed(GPT, Status(status)).retryable


def test_context_overflow_is_recognized() -> None:
    error = failed(GPT, Overflow())
    assert (error.overflow, error.retryable) == (True, False)


def test_a_web_page_is_not_an_answer() -> None:
    assert "Log in" in str(failed(GPT, Raw("<html><title>Log in</title></html>")))


def test_request_has_the_right_url_and_headers() -> None:
    with FakeServer() as server:
        server.script("a", "b", "c")

        async def main() -> None:
            await talk(server.url + "/v1/", GPT)
            await talk(server.url, GPT, key=None)
            await talk(server.url, GPT, **{"Authorization": "Basic x", "X-Title": "tau"})

        asyncio.run(main())
        first, bare, own = server.requests
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == "Bearer key-1"
    assert first.headers["content-type"] == "application/json"
    assert bare.path == "/chat/completions"
    assert "authorization" not in bare.headers
    assert own.headers["authorization"] == "Basic x"
    assert own.headers["x-title"] == "tau"


def test_leaving_mid_stream_closes_the_connection() -> None:
    leave_in_the_middle(GPT)


def test_conversation_with_images_and_calls_is_accepted() -> None:
    with FakeServer() as server:
        server.script("ok")
        asyncio.run(talk(server.url, GPT, conversation(GPT)))
        assert server.problems == []
        assert server.requests[0].raw.count(b"iVBORw0KGgo=") == 2
