"""Answers in the dialect `bedrock-converse-stream`, over a real socket."""

import asyncio
import json
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.aws_event_stream import FrameSplitter
from tau.ai.wire import TextContent, ThinkingContent
from tau.base.errors import ProviderError
from tests.ai.dialect_client import answer, failed, message, model, talk
from tests.support.fake_answers import Answer, Call, Raw, Status, Text, Thinking, Usage
from tests.support.fake_bedrock import Bedrock, encode_frame
from tests.support.fake_server import FakeServer

CLAUDE = model("bedrock-converse-stream", id="us.anthropic.claude-x-v1:0")
KEY = f"AKIA{'A' * 16}:{'s' * 40}"


def event(kind: str, **payload: Any) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return encode_frame(headers, json.dumps(payload).encode())


def delta(index: int = 0, **block: Any) -> bytes:
    return event("contentBlockDelta", contentBlockIndex=index, delta=block, p="abcdefgh")


def exception(kind: str, **payload: Any) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return encode_frame(headers, json.dumps(payload).encode())


def raw(*frames: bytes) -> Raw:
    return Raw(b"".join(frames).decode("latin-1"), 200, Bedrock.content_type, encoding="latin-1")


START = event("messageStart", role="assistant")
END = event("messageStop", stopReason="end_turn")


def test_everything_in_one_answer() -> None:
    scripted = Answer(
        (
            Thinking("Hm, yes.", deltas=2),
            Thinking("c2VjcmV0", redacted=True),
            Text("Hello, world.", deltas=2),
            Call("read", {"path": "a"}, id="c1", deltas=3),
            Call("job", {}, id="c2"),
        ),
        Usage(input=7, output=5, cache_read=3, cache_write=2),
    )
    found = message(CLAUDE, answer(CLAUDE, scripted))
    assert found.content[:3] == [
        ThinkingContent("Hm, yes.", "sig-1"),
        ThinkingContent("", "c2VjcmV0", True),
        TextContent("Hello, world."),
    ]
    assert [(call.id, call.name, call.arguments) for call in found.tool_calls] == [
        ("c1", "read", {"path": "a"}),
        ("c2", "job", {}),
    ]
    usage = found.usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (7, 5, 3, 2)
    assert found.stop_reason == "toolUse"


def test_redacted_thinking_in_pieces_is_joined_as_bytes() -> None:
    pieces = [delta(reasoningContent={"redactedContent": piece}) for piece in ("YQ==", "Yg==")]
    stop = event("contentBlockStop", contentBlockIndex=0)
    deltas = answer(CLAUDE, raw(START, *pieces, stop, delta(1, text="x"), END))
    assert d.RedactedThinking("YWI=") in deltas


def test_signature_without_text_is_kept() -> None:
    signed = delta(reasoningContent={"signature": "sig"})
    deltas = answer(
        CLAUDE,
        raw(START, signed, event("contentBlockStop", contentBlockIndex=0), delta(1, text="x"), END),
    )
    assert message(CLAUDE, deltas).content == [ThinkingContent("", "sig"), TextContent("x")]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "toolUse"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("a_new_one", "stop"),
    ],
)
def test_normal_ends(reason: str, expected: Any) -> None:
    deltas = answer(CLAUDE, raw(START, delta(text="x"), event("messageStop", stopReason=reason)))
    assert deltas[-1] == d.Done(expected)


@pytest.mark.parametrize("reason", ["guardrail_intervened", "content_filtered"])
def test_declined_answers_are_not_retried(reason: str) -> None:
    error = failed(CLAUDE, raw(START, delta(text="x"), event("messageStop", stopReason=reason)))
    assert "declined to answer" in str(error) and not error.retryable


def test_malformed_output_is_retried_and_a_malformed_call_explained() -> None:
    error = failed(CLAUDE, raw(START, event("messageStop", stopReason="malformed_model_output")))
    assert error.retryable and not error.bad_call
    error = failed(CLAUDE, raw(START, event("messageStop", stopReason="malformed_tool_use")))
    assert "malformed_tool_use" in error.bad_call


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        ("internalServerException", 500, True),
        ("modelStreamErrorException", None, True),
        ("serviceUnavailableException", 503, True),
        ("throttlingException", 429, True),
        ("validationException", 400, False),
    ],
)
def test_exceptions_in_the_stream(kind: str, status: int | None, retryable: bool) -> None:
    error = failed(CLAUDE, raw(START, delta(text="x"), exception(kind, message="Too bad.")))
    assert str(error) == "acme aborted its answer: Too bad."
    assert (error.status, error.retryable) == (status, retryable)


def test_model_error_has_the_models_own_status_and_message() -> None:
    failure = exception("modelStreamErrorException", originalStatusCode=400, originalMessage="Bad image.")
    error = failed(CLAUDE, raw(START, failure))
    assert (error.status, error.retryable, str(error)) == (400, False, "acme aborted its answer: Bad image.")


def test_error_without_an_exception_type() -> None:
    headers = {":message-type": "error", ":error-code": "InternalFailure", ":error-message": "Sorry."}
    error = failed(CLAUDE, raw(START, encode_frame(headers, b"")))
    assert error.retryable and "Sorry." in str(error)


def test_overflow_in_the_stream_is_recognized() -> None:
    failure = exception("validationException", message="Input is too long for requested model.")
    assert failed(CLAUDE, raw(failure)).overflow


def test_answer_is_complete_without_its_usage() -> None:
    assert message(CLAUDE, answer(CLAUDE, raw(START, delta(text="x"), END))).text == "x"


def test_unknown_events_and_fields_are_skipped() -> None:
    new = event("somethingNew", a=1)
    citation = delta(citation={"title": "t"})
    deltas = answer(CLAUDE, raw(START, new, citation, delta(text="x", new=1), new, END))
    assert message(CLAUDE, deltas).text == "x"


def test_throttled_request_is_retried_with_another_key() -> None:
    error = failed(CLAUDE, Status(429, body={"message": "Too many requests, please wait."}))
    assert error.retryable and error.blames_key


@pytest.mark.parametrize("at", [2, 9, 40, -2])
def test_damaged_frame_is_never_read(at: int) -> None:
    frame = bytearray(delta(text="rm -rf"))
    frame[at] ^= 1
    error = failed(CLAUDE, raw(START, bytes(frame), END))
    assert error.retryable
    assert "damaged" in str(error) or "cut off" in str(error)


def test_oversized_frame_is_refused_before_it_is_collected() -> None:
    huge = FrameSplitter()
    frame = encode_frame({}, b"x" * (17 * 1024 * 1024))
    with pytest.raises(ProviderError, match="more than"):
        huge.feed(frame[:100])


def test_headers_of_other_types_are_skipped() -> None:
    block = b"\x01a\x00" + b"\x01b\x04\x00\x00\x00\x01" + b"\x01c\x06\x00\x02hi" + b"\x01d\x08" + b"\x00" * 8
    text = b"\x01e\x07\x00\x02hi"
    plain = encode_frame({}, b"{}")
    assert FrameSplitter().feed(plain) == [({}, b"{}")]
    assert FrameSplitter().feed(reframed(block + text, b"{}")) == [({"e": "hi"}, b"{}")]
    with pytest.raises(ProviderError, match="damaged"):
        FrameSplitter().feed(reframed(b"\x01a\x07\x00\x09hi", b"{}"))


def reframed(block: bytes, payload: bytes) -> bytes:
    """A frame with these bytes as headers."""
    from binascii import crc32
    from struct import pack

    lengths = pack(">II", 16 + len(block) + len(payload), len(block))
    frame = lengths + pack(">I", crc32(lengths)) + block + payload
    return frame + pack(">I", crc32(frame))


def test_bearer_token_is_sent_unchanged() -> None:
    with FakeServer() as server:
        asyncio.run(talk(server.url, CLAUDE, key="bedrock-api-key-x"))
        [request] = server.requests
    assert request.headers["authorization"] == "Bearer bedrock-api-key-x"
    assert request.path == "/model/us.anthropic.claude-x-v1%3A0/converse-stream"


def test_access_key_signs_and_is_not_sent() -> None:
    with FakeServer() as server:
        asyncio.run(talk(server.url, CLAUDE, key=f"{KEY}:token"))
        [request] = server.requests
    sent = request.headers["authorization"]
    assert sent.startswith(f"AWS4-HMAC-SHA256 Credential=AKIA{'A' * 16}/")
    assert "/us-east-1/bedrock/aws4_request, SignedHeaders=" in sent
    assert request.headers["x-amz-security-token"] == "token"
    assert "s" * 40 not in str(request.headers)


def test_region_comes_from_the_arn_where_the_address_has_none() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-x"
    with FakeServer() as server:
        asyncio.run(talk(server.url, model("bedrock-converse-stream", id=arn), key=KEY))
        [request] = server.requests
    assert "/eu-west-1/bedrock/aws4_request" in request.headers["authorization"]
    assert request.model == arn
