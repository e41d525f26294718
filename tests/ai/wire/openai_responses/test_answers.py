"""The dialect `openai-responses`: what its answers become."""

import json
from typing import Any

import pytest
from msgspec import UNSET

from tau.ai import dialect as d
from tau.ai.apis.openai_responses import OTHER_ARGUMENTS
from tau.ai.assembler import Assembler
from tau.ai.model import Compat
from tau.ai.wire import CacheMiss, TextContent, ThinkingContent, ToolCall, signature_of
from tests.ai.dialect_client import HELLO, answer, failed, leave_in_the_middle, message, model, stream_of
from tests.support.fake_answers import (
    Answer,
    Call,
    CutConnection,
    ErrorEvent,
    InvalidUtf8,
    NotJson,
    Overflow,
    Raw,
    Status,
    Text,
    Thinking,
    TruncatedEvent,
    Usage,
)

GPT = model("openai-responses", input=("text", "image"))
PATCH = '*** Begin Patch\n*** Add File: a\n+"é\\\t\U0001f600\n*** End Patch\n'
EDIT = d.ToolSpec("edit", "Edits.", {"type": "object"}, d.CustomFormat("apply_patch", "start: /.+/"))
WITH_GRAMMAR = model("openai-responses", compat=Compat(grammar_tools=True))


def event(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def item(kind: str, index: int = 0, **fields: Any) -> str:
    return event(f"response.output_item.{kind}", output_index=index, item=fields)


DONE = event("response.completed", response={"id": "r1", "status": "completed", "output": []})
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read"}


def read(*events: str, speaker: Any = GPT) -> Any:
    return message(speaker, answer(speaker, stream_of(*events, DONE)))


def test_text_streams_in_deltas_and_ends_once() -> None:
    deltas = answer(GPT, Text("Hello, dear world.", deltas=3))
    assert [delta.text for delta in deltas if isinstance(delta, d.TextPiece)] == [
        "Hello, ",
        "dear ",
        "world.",
    ]
    assert deltas[0] == d.Answered("resp_fake_1")
    assert deltas[-1] == d.Done("stop")


def test_reasoning_keeps_what_its_server_wants_back() -> None:
    read = message(GPT, answer(GPT, [Thinking("Hm, so.", "sealed", deltas=2), Text("Yes.")]))
    thought, text = read.content
    assert isinstance(thought, ThinkingContent) and thought.thinking == "Hm, so."
    assert json.loads(signature_of(thought)) == {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [{"type": "summary_text", "text": "Hm, so."}],
        "encrypted_content": "sealed",
    }
    assert text == TextContent("Yes.", '{"v":1,"id":"msg_1"}')


def test_reasoning_without_a_summary_is_kept() -> None:
    thought, _ = message(GPT, answer(GPT, [Thinking("sealed", redacted=True), Text("Yes.")])).content
    assert isinstance(thought, ThinkingContent) and thought.thinking == ""
    assert json.loads(signature_of(thought))["encrypted_content"] == "sealed"


def test_parts_of_a_summary_are_paragraphs() -> None:
    place = {"output_index": 0, "item_id": "rs_1"}
    parts = [{"type": "summary_text", "text": text} for text in ("One", "Two")]
    deltas: list[str] = []
    for index, part in enumerate(parts):
        deltas += [
            event("response.reasoning_summary_part.added", summary_index=index, **place),
            event("response.reasoning_summary_text.delta", summary_index=index, delta=part["text"], **place),
        ]
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": parts, "encrypted_content": "x"}
    found = read(item("added", type="reasoning", id="rs_1", summary=[]), *deltas, item("done", **reasoning))
    assert found.content[0].thinking == "One\n\nTwo"


def test_reasoning_in_plain_text_is_read() -> None:
    content = [{"type": "reasoning_text", "text": "I think."}]
    found = read(
        item("added", type="reasoning", id="rs_1", summary=[]),
        event("response.reasoning_text.delta", output_index=0, content_index=0, delta="I "),
        item("done", type="reasoning", id="rs_1", summary=[], content=content, encrypted_content=""),
    )
    assert found.content[0].thinking == "I think."
    assert json.loads(signature_of(found.content[0])) == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": content,
    }


def test_phase_of_a_message_is_kept() -> None:
    found = message(
        GPT, answer(GPT, [Text("Looking.", phase="commentary"), Text("It is.", phase="final_answer")])
    )
    assert [part.text for part in found.content if isinstance(part, TextContent)] == ["Looking.", "It is."]
    assert [json.loads(signature_of(part)).get("phase") for part in found.content] == [
        "commentary",
        "final_answer",
    ]


def test_text_that_only_the_finished_item_has_is_not_lost() -> None:
    content = [{"type": "output_text", "text": "All of it."}]
    assert (
        read(item("added", **MESSAGE, content=[]), item("done", **MESSAGE, content=content)).text
        == "All of it."
    )
    assert read(item("done", **MESSAGE, content=content)).text == "All of it."
    half = event("response.output_text.delta", output_index=0, delta="All ")
    assert read(item("added", **MESSAGE), half, item("done", **MESSAGE, content=content)).text == "All of it."
    assert read(half, item("added", **MESSAGE), item("done", **MESSAGE, content=content)).text == "All of it."


def test_items_that_only_the_finished_response_has_are_not_lost() -> None:
    output = [
        {**MESSAGE, "content": [{"type": "output_text", "text": "Reading."}]},
        {**CALL, "arguments": '{"path":"a"}', "status": "completed"},
    ]
    found = answer(GPT, stream_of(event("response.completed", response={"id": "r", "output": output})))
    assert message(GPT, found).text == "Reading."
    assert [call.arguments for call in message(GPT, found).tool_calls] == [{"path": "a"}]


def test_refusal_is_shown_as_text() -> None:
    content = [{"type": "refusal", "refusal": "I cannot."}]
    piece = event("response.refusal.delta", output_index=0, delta="I ")
    assert read(item("added", **MESSAGE), piece, item("done", **MESSAGE, content=content)).text == "I cannot."


def test_call_streams_in_deltas() -> None:
    deltas = answer(GPT, [Text("Reading."), Call("read", {"path": "a/b.py"}, id="call_7", deltas=4)])
    assert len([delta for delta in deltas if isinstance(delta, d.CallPiece)]) == 4
    assert message(GPT, deltas).content[1] == ToolCall("call_7", "read", {"path": "a/b.py"}, '{"id":"fc_1"}')
    assert deltas[-1] == d.Done("toolUse")


def test_several_calls_in_one_answer_stay_separate() -> None:
    calls = [Call("read", {"path": name}, id=f"c{name}") for name in "abc"]
    found = message(GPT, answer(GPT, calls)).tool_calls
    assert [(call.id, call.arguments) for call in found] == [(f"c{name}", {"path": name}) for name in "abc"]


def test_interleaved_calls_stay_separate() -> None:
    second = {**CALL, "id": "fc_2", "call_id": "c2"}

    def piece(index: int, text: str) -> str:
        return event("response.function_call_arguments.delta", output_index=index, delta=text)

    found = read(
        item("added", 0, **CALL, arguments=""),
        item("added", 1, **second, arguments=""),
        piece(1, '{"path":'),
        piece(0, '{"path":'),
        piece(1, '"b"}'),
        piece(0, '"a"}'),
        item("done", 1, **second, arguments='{"path":"b"}'),
        item("done", 0, **CALL, arguments='{"path":"a"}'),
    )
    assert {call.id: call.arguments for call in found.tool_calls} == {
        "c1": {"path": "a"},
        "c2": {"path": "b"},
    }


def test_arguments_that_changed_after_streaming_do_not_run() -> None:
    assembler = Assembler(GPT, 1)
    piece = event("response.function_call_arguments.delta", output_index=0, delta='{"path":"a')
    changed = item("done", **CALL, arguments='{"path":"other"}')
    for delta in answer(GPT, stream_of(item("added", **CALL, arguments=""), piece, changed, DONE)):
        assembler.feed(delta)
    assert assembler.broken == {"c1": OTHER_ARGUMENTS}


def test_text_for_a_custom_tool_becomes_its_input() -> None:
    request = d.Request(system="", messages=HELLO.messages, tools=[EDIT], max_tokens=100)
    call = Call("apply_patch", {"input": PATCH}, id="c1", deltas=9)
    found = message(WITH_GRAMMAR, answer(WITH_GRAMMAR, call, request)).tool_calls
    assert found == [ToolCall("c1", "edit", {"input": PATCH}, '{"id":"ctc_0"}', "apply_patch")]


def test_unfinished_text_for_a_custom_tool_does_not_run() -> None:
    assembler = Assembler(WITH_GRAMMAR, 1)
    started = item("added", type="custom_tool_call", id="x", call_id="c1", name="apply_patch", input="")
    piece = event("response.custom_tool_call_input.delta", output_index=0, delta="*** Begin")
    for delta in answer(WITH_GRAMMAR, stream_of(started, piece, DONE)):
        assembler.feed(delta)
    assert list(assembler.broken) == ["c1"]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("length", "length"), ("max_output_tokens", "length"), ("max_messages", "length"), ("steered", "stop")],
)
def test_incomplete_answers(stop: str, reason: Any) -> None:
    assert answer(GPT, Answer((Text("x"),), stop=stop))[-1] == d.Done(reason)


def test_answer_incomplete_for_an_unknown_reason_runs_no_calls() -> None:
    assert answer(GPT, Answer((Call("ls"),), stop="a_new_word"))[-1] == d.Done("length")


def test_content_filter_is_a_fatal_error() -> None:
    error = failed(GPT, Answer((Text("I"),), stop="content_filter"))
    assert (error.kind, error.retryable) == ("contentFilter", False)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("server_error", "bug", True),
        ("rate_limit_exceeded", "rateLimit", True),
        ("invalid_prompt", "invalid", False),
        ("image_too_large", "bug", True),
        ("bio_policy", "contentFilter", False),
    ],
)
def test_failed_response_is_an_error_with_the_vendors_message(code: str, kind: str, retryable: bool) -> None:
    response = {"id": "r1", "status": "failed", "error": {"code": code, "message": "It broke."}}
    error = failed(GPT, stream_of(event("response.failed", response=response)))
    assert str(error) == "acme aborted its answer: It broke."
    assert (error.kind, error.retryable) == (kind, retryable)


def test_error_event_in_mid_stream_keeps_the_vendors_message() -> None:
    error = failed(GPT, ErrorEvent(kind="server_error", message="It broke."))
    assert (str(error), error.retryable) == ("acme aborted its answer: It broke.", True)
    nested = event("error", error={"type": "invalid_request_error", "code": None, "message": "Bad input."})
    error = failed(GPT, stream_of(nested))
    assert (str(error), error.retryable) == ("acme aborted its answer: Bad input.", False)


def test_cancelled_response_is_an_error() -> None:
    body = json.dumps({"id": "r", "object": "response", "status": "cancelled", "output": []})
    assert "cancelled" in str(failed(GPT, Raw(body, 200, "application/json")))


def test_tokens_are_counted() -> None:
    usage = {
        "input_tokens": 1057,
        "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 50},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 1066,
    }
    response = {"id": "r", "output": [], "usage": usage, "service_tier": "flex"}
    deltas = answer(GPT, stream_of(event("response.completed", response=response)))
    assert d.Tokens(7, 9, 1000, 50, 4, tier="flex") in deltas
    counted = message(GPT, deltas).usage
    assert (counted.input, counted.output, counted.cache_read, counted.cache_write) == (7, 9, 1000, 50)
    assert counted.reasoning_tokens == 4


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 90}, True),
        ({"type": "cache_hit"}, False),
        (["odd"], False),
    ],
)
def test_reason_of_a_cache_miss_is_kept(said: Any, kept: bool) -> None:
    response = {"id": "r", "output": [], "usage": {"input_tokens": 100}, "prompt_cache_diagnostics": said}
    usage = message(GPT, answer(GPT, stream_of(event("response.completed", response=response)))).usage
    assert usage.cache_miss == (CacheMiss("tools_changed", 90) if kept else UNSET)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None}, {"input_tokens_details": None}, "odd"])
def test_missing_counts_are_zero(usage: Any) -> None:
    response = {"id": "r", "output": [], "usage": usage}
    assert (
        message(GPT, answer(GPT, stream_of(event("response.completed", response=response)))).usage.input == 0
    )


def test_cached_tokens_of_the_fake_server_are_counted() -> None:
    counts = Usage(input=7, output=9, cache_read=1000, cache_write=50)
    usage = message(GPT, answer(GPT, Answer((Text("x"),), counts))).usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (7, 9, 1000, 50)


def test_unknown_events_items_and_fields_are_ignored_and_kept() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    found = read(
        event("response.in_progress", response={"id": "r1"}),
        event("response.from_the_future", output_index="odd", item=7),
        event("keepalive"),
        "",
        item("added", 0, **search),
        event("response.web_search_call.searching", output_index=0, item_id="ws_1"),
        item("done", 0, **search),
        item("added", 1, **MESSAGE, mood="fine"),
        event("response.output_text.annotation.added", output_index=1, annotation={}),
        event("response.output_text.delta", output_index=1, delta="Yes.", logprobs=[], obfuscation="xyz"),
        item("done", 1, **MESSAGE, content=[{"type": "output_text", "text": "Yes.", "annotations": []}]),
    )
    assert found.text == "Yes."
    assert found.provider_payload == [{"index": 0, "block": search}]


@pytest.mark.parametrize("after", [0, 1, 3, 6])
def test_cut_connection_is_retryable(after: int) -> None:
    assert failed(GPT, CutConnection(after_events=after)).retryable


@pytest.mark.parametrize("after", [0, 2, 6])
def test_truncated_event_is_a_truncated_answer(after: int) -> None:
    assert str(failed(GPT, TruncatedEvent(after_events=after))) == "The answer from acme was cut off."


def test_end_of_stream_without_an_end_of_the_answer_is_an_error() -> None:
    assert failed(GPT, stream_of(item("added", **MESSAGE), "[DONE]")).retryable


def test_non_json_event_is_retryable() -> None:
    assert failed(GPT, NotJson()).retryable


def test_invalid_byte_costs_one_character() -> None:
    text = message(GPT, answer(GPT, InvalidUtf8("cafe noir"))).text
    assert text.startswith("ca\ufffd") and text.endswith("noir")


def test_context_overflow_is_recognized() -> None:
    error = failed(GPT, Overflow())
    assert (error.overflow, error.retryable) == (True, False)


def test_rate_limit_says_how_long_to_wait() -> None:
    error = failed(GPT, Status(429, "Slow down.", retry_after="17"))
    assert (error.status, error.retryable, error.retry_after) == (429, True, 17)


def test_leaving_mid_stream_closes_the_connection() -> None:
    leave_in_the_middle(GPT)


def test_items_without_an_index_are_matched_by_their_id() -> None:
    """As llama.cpp sends them."""
    names = ("fc_1", "fc_2")
    calls = [{**CALL, "id": id, "call_id": f"call_{id}"} for id in names]
    events: list[str] = []
    for call, id in zip(calls, names, strict=True):
        events.append(event("response.output_item.added", item={**call, "arguments": ""}))
        for piece in ('{"path":', f'"{id}"}}'):
            events.append(event("response.function_call_arguments.delta", item_id=id, delta=piece))
    finished = [{**call, "arguments": f'{{"path":"{id}"}}'} for call, id in zip(calls, names, strict=True)]
    events += [event("response.output_item.done", item=call) for call in finished]
    events.append(event("response.completed", response={"id": "r1", "output": finished}))
    found = message(GPT, answer(GPT, stream_of(*events)))
    assert [(call.id, call.arguments) for call in found.tool_calls] == [
        ("call_fc_1", {"path": "fc_1"}),
        ("call_fc_2", {"path": "fc_2"}),
    ]
