"""Reasoning that a vendor demands back with the next request."""

import json
from typing import Any

import msgspec
import pytest

from tau.ai import dialect as d
from tau.ai.apis.openai_completions import build_body
from tau.ai.catalog import load_catalog, pick_model
from tau.ai.model import Compat, Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import AppMessage, AssistantMessage, ThinkingContent, ToolResultMessage, UserMessage
from tests.ai.dialect_client import answer, message, model, stream_of

GPT = model("openai-completions")
SIGNED = {"google": {"thought_signature": "c2ln"}}


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]})


def call(index: int, **more: Any) -> dict[str, Any]:
    function = {"name": "read", "arguments": "{}"}
    return {"index": index, "id": f"c{index}", "type": "function", "function": function, **more}


def read_message(*chunks: str, speaker: Model = GPT) -> AssistantMessage:
    return message(speaker, answer(speaker, stream_of(*chunks, "[DONE]")))


def sent_back(read: AssistantMessage, speaker: Model = GPT) -> dict[str, Any]:
    """The answer as it is sent with the next request."""
    results: list[AppMessage] = [ToolResultMessage(one.id, one.name, [], False, 3) for one in read.tool_calls]
    history = normalize_history([UserMessage("hi", 1), read, *results, UserMessage("more", 4)], speaker)
    body = build_body(speaker, d.Request(system="", messages=history, tools=[], max_tokens=9))
    sent: dict[str, Any] = msgspec.to_builtins(body["messages"][1])
    return sent


def test_reasoning_details_come_back_in_one_piece_each() -> None:
    text = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
    sealed = {"type": "reasoning.encrypted", "index": 1, "id": "c0", "data": "AAA"}
    read = read_message(
        chunk({"reasoning": "I ", "reasoning_details": [{**text, "text": "I "}]}),
        chunk({"reasoning": "read.", "reasoning_details": [{**text, "text": "read."}]}),
        chunk({"reasoning_details": [{**text, "signature": "sig"}]}),
        chunk({"content": "Reading."}),
        chunk({"tool_calls": [call(0)], "reasoning_details": [sealed]}),
        chunk({}, "tool_calls"),
    )
    thoughts = [part.thinking for part in read.content if isinstance(part, ThinkingContent)]
    assert thoughts == ["I read.", ""]
    assert read.text == "Reading."
    sent = sent_back(read)
    assert sent["reasoning_details"] == [{**text, "text": "I read.", "signature": "sig"}, sealed]
    other = msgspec.structs.replace(GPT, id="other")
    assert "reasoning_details" not in sent_back(read, other)


def test_details_without_any_other_reasoning_are_shown_as_thinking() -> None:
    summary = {"type": "reasoning.summary", "index": 0}
    read = read_message(
        chunk({"reasoning_details": [{**summary, "summary": "So "}]}),
        chunk({"reasoning_details": [{**summary, "summary": "it is."}, "odd"]}),
        chunk({"reasoning_details": "odd"}),
        chunk({"content": "Yes."}, "stop"),
    )
    assert [part.thinking for part in read.content if isinstance(part, ThinkingContent)] == ["So it is."]
    assert sent_back(read)["reasoning_details"] == [{**summary, "summary": "So it is."}]


@pytest.mark.parametrize("place", ["google", "vertex"])
def test_gemini_gets_its_thought_signature_back_with_the_call(place: str) -> None:
    signed = {place: {"thought_signature": "c2ln"}}
    read = read_message(
        chunk({"tool_calls": [call(0, extra_content=signed), call(1)]}), chunk({}, "tool_calls")
    )
    first, second = sent_back(read)["tool_calls"]
    assert first["extra_content"] == signed
    assert "extra_content" not in second


def test_gemini_takes_the_calls_of_another_model() -> None:
    gemini = model("openai-completions", id="gemini", compat=Compat(thought_signatures=True))
    read = read_message(chunk({"tool_calls": [call(0), call(1)]}), chunk({}, "tool_calls"))
    first, second = sent_back(read, gemini)["tool_calls"]
    assert first["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert "extra_content" not in second
    own = read_message(
        chunk({"tool_calls": [call(0, extra_content=SIGNED)]}), chunk({}, "tool_calls"), speaker=gemini
    )
    assert sent_back(own, gemini)["tool_calls"][0]["extra_content"] == SIGNED


@pytest.mark.parametrize("name", ["kimi-k2.6", "kimi-k9-thinking"])
def test_kimi_over_openrouter_gets_its_reasoning_back(name: str) -> None:
    kimi = pick_model(load_catalog(), f"openrouter/moonshotai/{name}").model
    assert kimi.reasoning and kimi.compat.thinking_field == "reasoning_content"
    read = read_message(
        chunk({"reasoning": "I read."}),
        chunk({"tool_calls": [call(0)]}),
        chunk({}, "tool_calls"),
        speaker=kimi,
    )
    assert sent_back(read, kimi)["reasoning_content"] == "I read."
    foreign = read_message(chunk({"tool_calls": [call(0)]}), chunk({}, "tool_calls"))
    assert sent_back(foreign, kimi)["reasoning_content"] == ""


def test_other_models_of_a_router_get_its_defaults() -> None:
    unlisted = pick_model(load_catalog(), "openrouter/acme/new-model").model
    assert unlisted.compat == load_catalog().providers["openrouter"].compat and not unlisted.reasoning
