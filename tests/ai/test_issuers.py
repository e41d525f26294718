"""Opaque parts of an answer go back to whoever issued them, and to nobody else."""

from typing import Any

import pytest
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.assembler import Assembler
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    issuer_address,
    signature_of,
)
from tests.ai.dialect_client import model

SPEAKER = model("anthropic-messages", base_url="https://user:secret@API.example:8443/v1?key=secret")


def answer(speaker: Any = SPEAKER) -> AssistantMessage:
    assembler = Assembler(speaker, 2)
    for delta in (
        d.ThinkingPiece("Hm."),
        d.Signature("sig"),
        d.BlockEnd(),
        d.UnknownBlock('{"type":"search_result","n":1}'),
        d.TextPiece("Yes."),
        d.Signature("text-sig"),
        d.CallStart(0, "c1", "read"),
        d.CallPiece(0, "{}"),
        d.CallEnd(0, "", "call-sig"),
        d.Answered("resp_1", "upstream-7"),
        d.Done("toolUse"),
    ):
        assembler.feed(delta)
    return assembler.message(assembler.stop_reason)


def replayed(message: AssistantMessage, speaker: Any) -> AssistantMessage:
    history = [UserMessage("hi", 1), message, ToolResultMessage("c1", "read", [], False, 3)]
    sent = normalize_history(history, speaker)[1]
    assert isinstance(sent, AssistantMessage)
    return sent


def test_answer_records_its_issuer_without_secrets() -> None:
    message = answer()
    assert message.address == "https://api.example:8443"
    assert (message.response_id, message.upstream_provider) == ("resp_1", "upstream-7")
    assert message.provider_payload == [{"index": 1, "block": {"type": "search_result", "n": 1}}]


def test_answer_without_opaque_parts_records_no_address() -> None:
    assembler = Assembler(SPEAKER, 2)
    assembler.feed(d.TextPiece("Yes."))
    assert not isinstance(assembler.message("stop").address, str)


def test_issuer_gets_everything_back() -> None:
    sent = replayed(answer(), SPEAKER)
    assert [signature_of(part) for part in sent.content] == ["sig", "text-sig", "call-sig"]
    assert sent.provider_payload == answer().provider_payload


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "other"},
        {"id": "other"},
        {"api": "openai-completions"},
        {"base_url": "https://gateway.example/v1"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_nobody_else_gets_signatures_or_unknown_blocks(change: dict[str, Any]) -> None:
    sent = replayed(answer(), replace(SPEAKER, **change))
    assert [part for part in sent.content if signature_of(part)] == []
    assert not any(isinstance(part, ThinkingContent) for part in sent.content)
    assert not isinstance(sent.provider_payload, list)
    assert sent.text == "Yes." and len(sent.tool_calls) == 1


def test_session_of_an_older_version_keeps_its_signatures_at_the_usual_address() -> None:
    message = AssistantMessage(
        [ThinkingContent("Hm.", "sig"), TextContent("Yes."), ToolCall("c1", "read", {})],
        *(SPEAKER.api, SPEAKER.provider, SPEAKER.id),
        answer().usage,
        "toolUse",
        2,
    )
    assert signature_of(replayed(message, SPEAKER).content[0]) == "sig"
    moved = replace(SPEAKER, custom_address=True)
    assert [part for part in replayed(message, moved).content if signature_of(part)] == []


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://h/key@x", "https://h"),
        ("https://h?key=x", "https://h"),
    ],
)
def test_address_is_scheme_and_host(url: str, address: str) -> None:
    assert issuer_address(url) == address
