"""Answers in the dialect `google-generative-ai`, over a real socket."""

import asyncio
import json
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.wire import AssistantMessage, TextContent, ThinkingContent
from tests.ai.dialect_client import answer, failed, message, model, stream_of, talk
from tests.support.fake_answers import Answer, Call, CutConnection, Raw, Status, Text, Usage
from tests.support.fake_server import FakeServer

GEMINI = model("google-generative-ai", input=("text", "image"))
TWO_WORDS = Answer((Text("two words", deltas=2),))


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return json.dumps({"candidates": [{**candidate, **more.pop("candidate", {})}], **more})


def read(*events: str) -> AssistantMessage:
    return message(GEMINI, answer(GEMINI, stream_of(*events)))


def test_text_and_thoughts_stream_in_deltas() -> None:
    deltas = answer(
        GEMINI,
        stream_of(
            chunk({"text": "Hm, ", "thought": True}),
            chunk({"text": "yes.", "thought": True}),
            chunk({"text": "Hel"}),
            chunk({"text": "lo."}, finish="STOP"),
        ),
    )
    assert deltas == [
        d.ThinkingPiece("Hm, "),
        d.ThinkingPiece("yes."),
        d.TextPiece("Hel"),
        d.TextPiece("lo."),
        d.Done("stop"),
    ]


def test_signature_of_any_part_is_kept_with_that_part() -> None:
    found = read(
        chunk({"text": "Hm.", "thought": True, "thoughtSignature": "QQ=="}),
        chunk({"text": "One."}),
        chunk({"text": "Two.", "thoughtSignature": "Qg=="}),
        chunk({"text": "Three."}),
        chunk({"text": "", "thoughtSignature": "Qw=="}),
        chunk({"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "RA=="}),
        chunk({"functionCall": {"name": "read", "args": {"a": 1}}}),
        chunk({"text": "", "thoughtSignature": "RQ=="}, finish="STOP"),
    )
    assert found.content[:4] == [
        ThinkingContent("Hm.", "QQ=="),
        TextContent("One."),
        TextContent("Two.", "Qg=="),
        TextContent("Three.", "Qw=="),
    ]
    assert (found.tool_calls[0].arguments, found.tool_calls[0].thought_signature) == ({}, "RA==")
    assert found.content[-1] == ThinkingContent("", "RQ==")
    assert found.stop_reason == "toolUse"


def test_calls_without_ids_get_their_own() -> None:
    calls = read(
        chunk({"functionCall": {"name": "read", "args": {"path": "a"}}}, {"functionCall": {"name": "job"}}),
        chunk({"functionCall": {"name": "read", "args": None, "id": "theirs"}}, finish="STOP"),
    ).tool_calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("read", {"path": "a"}),
        ("job", {}),
        ("read", {}),
    ]
    assert len({call.id for call in calls}) == 3
    assert calls[2].id == "theirs"


def test_call_in_pieces_does_not_run() -> None:
    """Servers send pieces only when asked to."""
    piece = {
        "name": "write",
        "partialArgs": [{"jsonPath": "$.path", "stringValue": "a"}],
        "willContinue": True,
    }
    deltas = answer(GEMINI, stream_of(chunk({"functionCall": piece}, finish="STOP")))
    assert d.CallEnd(0, d.CUT_OFF) in deltas


@pytest.mark.parametrize("after", [0, 3])
def test_connection_lost_before_the_finish_is_retryable(after: int) -> None:
    assert failed(GEMINI, CutConnection(after_events=after, of=TWO_WORDS)).retryable


def test_connection_lost_after_the_finish_does_no_harm() -> None:
    deltas = answer(GEMINI, CutConnection(after_events=4, of=TWO_WORDS))
    assert message(GEMINI, deltas).text == "two words"
    assert deltas[-1] == d.Done("stop")


REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "A_NEW_ONE": "stop",
}
DECLINED = [
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
    *("IMAGE_PROHIBITED_CONTENT", "NO_IMAGE", "IMAGE_RECITATION", "IMAGE_OTHER"),
]
BAD_CALLS = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"]
RETRIED = ["OTHER", "MALFORMED_RESPONSE"]


@pytest.mark.parametrize("reason", REASONS)
def test_normal_ends(reason: str) -> None:
    assert answer(GEMINI, stream_of(chunk({"text": "x"}, finish=reason)))[-1] == d.Done(REASONS[reason])  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", DECLINED)
def test_declined_answers_are_not_retried(reason: str) -> None:
    error = failed(GEMINI, stream_of(chunk({"text": "x"}, finish=reason)))
    assert "declined to answer" in str(error) and not error.retryable


@pytest.mark.parametrize("reason", BAD_CALLS)
def test_bad_calls_are_explained_to_the_model(reason: str) -> None:
    said = {"finishMessage": "Malformed function call: print(default_api.read("}
    error = failed(GEMINI, stream_of(chunk(finish=reason, candidate=said)))
    assert reason in error.bad_call and "print(default_api.read(" in error.bad_call


@pytest.mark.parametrize("reason", RETRIED)
def test_broken_answers_are_retried(reason: str) -> None:
    error = failed(GEMINI, stream_of(chunk({"text": "x"}, finish=reason)))
    assert error.retryable and reason in str(error)


def test_unspecified_reason_is_not_an_end() -> None:
    events = [chunk({"text": "x"}, finish="FINISH_REASON_UNSPECIFIED")]
    assert "was cut off" in str(failed(GEMINI, stream_of(*events)))
    assert read(*events, chunk({"text": "y"}, finish="STOP")).text == "xy"


def test_all_reasons_are_covered() -> None:
    known = {*REASONS, *DECLINED, *BAD_CALLS, *RETRIED, "FINISH_REASON_UNSPECIFIED"} - {"A_NEW_ONE"}
    assert len(known) == 20


@pytest.mark.parametrize(
    "reason",
    ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK"],
)
def test_blocked_prompt_is_not_retried(reason: str) -> None:
    error = failed(GEMINI, stream_of(json.dumps({"promptFeedback": {"blockReason": reason}})))
    assert reason in str(error) and not error.retryable
    named = {"blockReason": reason, "blockReasonMessage": "Ask somebody else."}
    assert "Ask somebody else." in str(failed(GEMINI, stream_of(json.dumps({"promptFeedback": named}))))


def test_feedback_without_a_reason_blocks_nothing() -> None:
    feedback = {"promptFeedback": {"blockReason": "BLOCKED_REASON_UNSPECIFIED"}}
    assert read(chunk({"text": "x"}, finish="STOP", **feedback)).text == "x"


def test_cached_and_thought_tokens_are_counted_once() -> None:
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 112,
    }
    counted = read(chunk({"text": "x"}, finish="STOP", usageMetadata=usage)).usage
    assert (counted.input, counted.cache_read, counted.output, counted.reasoning_tokens) == (40, 60, 12, 5)


def test_error_in_the_stream() -> None:
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    caught = failed(GEMINI, stream_of(chunk({"text": "x"}), json.dumps(error)))
    assert caught.retryable and caught.status == 503
    bad = {"error": {"code": 400, "message": "Invalid value", "status": "INVALID_ARGUMENT"}}
    assert not failed(GEMINI, stream_of(json.dumps(bad))).retryable
    quota = {"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}}
    assert failed(GEMINI, Raw(json.dumps([quota]), 200, "application/json")).status == 429


def test_answer_as_a_list_of_chunks_is_read() -> None:
    chunks = [chunk({"text": "Hel"}), chunk({"text": "lo."}, finish="STOP")]
    raw = Raw(f"[{','.join(chunks)}]", 200, "application/json")
    assert message(GEMINI, answer(GEMINI, raw)).text == "Hello."


def test_only_the_first_candidate_is_read() -> None:
    both = json.loads(chunk({"text": "mine"}, finish="STOP"))
    both["candidates"].insert(0, json.loads(chunk({"text": "other"}, finish="STOP"))["candidates"][0])
    both["candidates"][0]["index"] = 1
    assert read(json.dumps(both)).text == "mine"


def test_unknown_fields_parts_and_events_are_skipped() -> None:
    found = read(
        '{"ping": 1}',
        chunk({"executableCode": {"code": "1"}}, {"text": "x", "new": [1]}, newField={}),
        chunk({"inlineData": {"mimeType": "image/png", "data": "aGk="}}, finish="STOP"),
    )
    assert found.content == [TextContent("x")]


@pytest.mark.parametrize(
    ("key", "header", "value"),
    [
        ("AIza-x", "x-goog-api-key", "AIza-x"),
        ("ya29.token", "authorization", "Bearer ya29.token"),
        ("Bearer other", "authorization", "Bearer other"),
    ],
)
def test_key_is_in_a_header_never_in_the_address(key: str, header: str, value: str) -> None:
    with FakeServer() as server:
        asyncio.run(talk(server.url, GEMINI, key=key))
        [request] = server.requests
    assert request.path == "/v1beta/models/m:streamGenerateContent?alt=sse"
    assert request.headers[header] == value
    assert {"x-goog-api-key", "authorization"} & set(request.headers) == {header}


def test_status_429_says_how_long_to_wait() -> None:
    body = {
        "error": {
            "code": 429,
            "message": "Resource exhausted",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "21s"}],
        }
    }
    error = failed(GEMINI, Status(429, body=body))
    assert (error.retryable, error.retry_after) == (True, 21)


def test_usage_and_parallel_calls_of_a_scripted_answer() -> None:
    scripted = Answer(
        (Text("a"), Call("read", {"x": 1}), Call("job")), Usage(input=7, output=5, cache_read=3)
    )
    found = message(GEMINI, answer(GEMINI, scripted))
    assert (found.usage.input, found.usage.output, found.usage.cache_read) == (7, 5, 3)
    assert [call.name for call in found.tool_calls] == ["read", "job"]
