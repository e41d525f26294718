"""Mistral's variety of `openai-completions`, by flags, with Mistral's own client as the judge."""

import asyncio
import json
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.apis.openai_body import build_body
from tau.ai.apis.request import encode
from tau.ai.catalog import load_catalog, pick_model
from tau.ai.model import Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import AssistantMessage, TextContent, ThinkingContent, ToolResultMessage, UserMessage
from tests.ai.dialect_client import HELLO, answer, message, model, stream_of, talk
from tests.ai.wire.judges import mistral_judge, refuses
from tests.ai.wire.random_requests import random_request
from tests.support.fake_answers import Answer, Raw, Text, Usage
from tests.support.fake_server import FakeServer
from tests.support.validators import validate_openai

CATALOG = load_catalog()
MEDIUM = pick_model(CATALOG, "mistral/mistral-medium-latest").model
UNMAPPED = model("openai-completions", provider="mistral", compat=CATALOG.providers["mistral"].compat)


def body_of(speaker: Model, request: d.Request) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(encode(build_body(speaker, request)))
    return body


def chunk(finish: str | None = None, **delta: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def thought(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


CALLS = [{"index": 0, "id": "D681PevKs", "function": {"name": "read", "arguments": '{"path": "a"}'}}]
THINKS = stream_of(
    chunk(role="assistant", content=""),
    chunk(content=[thought("Hm, ")]),
    chunk(content=[thought("yes.", signature="sealed", closed=True)]),
    chunk(content=[{"type": "text", "text": "Hello"}]),
    chunk(content="."),
    chunk("tool_calls", content="", tool_calls=CALLS),
    "[DONE]",
)


PLAIN = Answer((Text("Grüße, \U0001f600.", deltas=3),), Usage(input=7, output=5))


def sent_back(read: AssistantMessage, speaker: Model) -> list[Any]:
    results = [ToolResultMessage(call.id, call.name, [], False, 3) for call in read.tool_calls]
    history = normalize_history([UserMessage("hi", 1), read, *results], speaker)
    body = body_of(speaker, replace(HELLO, messages=history))
    mistral_judge()(body)
    return list(body["messages"][2:])


def test_thinking_in_the_content_comes_back_in_the_content() -> None:
    read = message(MEDIUM, answer(MEDIUM, THINKS))
    read = replace(read, address="https://api.mistral.ai")
    assert read.content[:2] == [ThinkingContent("Hm, yes.", "sealed"), TextContent("Hello.")]
    sent, result = sent_back(read, MEDIUM)
    assert sent["content"] == [thought("Hm, yes.", signature="sealed"), {"type": "text", "text": "Hello."}]
    assert sent["tool_calls"][0]["id"] == result["tool_call_id"] == "D681PevKs"
    assert result["name"] == "read"


def test_ids_have_nine_letters_and_digits() -> None:
    """A call without an id gets a long one of ours."""
    read = message(
        MEDIUM, answer(MEDIUM, stream_of(chunk("tool_calls", tool_calls=[{**CALLS[0], "id": None}])))
    )
    sent, result = sent_back(read, MEDIUM)
    assert len(read.tool_calls[0].id) > 9
    assert len(sent["tool_calls"][0]["id"]) == 9 and sent["tool_calls"][0]["id"] == result["tool_call_id"]


@pytest.mark.parametrize(
    ("speaker", "level", "sent"),
    [
        (MEDIUM, "off", {"reasoning_effort": "none"}),
        (MEDIUM, "high", {"reasoning_effort": "high"}),
        (UNMAPPED, "high", {"prompt_mode": "reasoning"}),
        (UNMAPPED, "off", {}),
    ],
)
def test_thinking_is_a_level_or_a_mode(speaker: Model, level: Any, sent: dict[str, str]) -> None:
    body = body_of(speaker, replace(HELLO, thinking=level))
    mistral_judge()(body)
    assert {key: body[key] for key in ("reasoning_effort", "prompt_mode") if key in body} == sent


@pytest.mark.parametrize("count", [50, pytest.param(2_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("speaker", [MEDIUM, UNMAPPED], ids=["levels", "mode"])
@pytest.mark.holds_loop
def test_random_requests_are_accepted(speaker: Model, count: int) -> None:
    judge = mistral_judge()
    for seed in range(count):
        body = body_of(speaker, random_request(Random(seed), speaker))
        assert validate_openai(body) == [], seed
        judge(body)


def _assistant(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in body["messages"] if one.get("tool_calls"))
    return found


MISTAKES: dict[str, Callable[[dict[str, Any]], object]] = {
    "usage is asked for": lambda body: body.update(stream_options={"include_usage": True}),
    "field of another vendor": lambda body: body.update(store=False),
    "length of another vendor": lambda body: body.update(max_completion_tokens=5),
    "length as text": lambda body: body.update(max_tokens="5"),
    "thinking in a field of its own": lambda body: _assistant(body).update(reasoning_content="x"),
    "thinking as text": lambda body: _assistant(body).update(content=[{"type": "thinking", "thinking": "x"}]),
    "unknown part": lambda body: _assistant(body).update(content=[{"type": "output_text", "text": "x"}]),
    "long id": lambda body: _assistant(body)["tool_calls"][0].update(id="call_0123456789"),
    "call without a name": lambda body: _assistant(body)["tool_calls"][0]["function"].pop("name"),
    "call without a function": lambda body: _assistant(body)["tool_calls"][0].pop("function"),
    "role of another vendor": lambda body: body["messages"][0].update(role="developer"),
    "message without a role": lambda body: body["messages"][0].pop("role"),
    "model is missing": lambda body: body.pop("model"),
    "model is a number": lambda body: body.update(model=5),
    "stream is off": lambda body: body.update(stream=False),
    "messages are missing": lambda body: body.pop("messages"),
    "tool without a name": lambda body: body["tools"][0]["function"].pop("name"),
    "tool without parameters": lambda body: body["tools"][0]["function"].pop("parameters"),
    "unknown choice": lambda body: body.update(tool_choice=5),
    "signatures of another vendor": lambda body: _assistant(body).update(reasoning_details=[]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_caught(mistake: str) -> None:
    judge = mistral_judge()
    bodies = (body_of(MEDIUM, random_request(Random(seed), MEDIUM)) for seed in range(100))
    body = next(body for body in bodies if "tool_calls" in str(body) and "tools" in body)
    judge(body)
    MISTAKES[mistake](body)
    assert refuses(judge, body)


@pytest.mark.holds_loop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scripted", [THINKS, PLAIN], ids=["thinking", "text"])
def test_client_reads_the_fake_servers_streams_as_we_do(scripted: Answer | Raw) -> None:
    mistralai = pytest.importorskip("mistralai.client", reason="needs the extra `judges`")
    with FakeServer() as server:
        server.script(scripted)
        with mistralai.Mistral(api_key="k", server_url=server.url) as client:
            asked: Any = [{"role": "user", "content": "hi"}]
            chunks = [event.data for event in client.chat.stream(model="m", messages=asked)]
        ours = message(MEDIUM, asyncio.run(talk(f"{server.url}/v1", MEDIUM)))
    said = [one.choices[0].delta for one in chunks if one.choices]
    texts = [one.content for one in said if isinstance(one.content, str)]
    parts = [part for one in said if isinstance(one.content, list) for part in one.content]
    assert "".join([*(part.text for part in parts if part.type == "text"), *texts]) == ours.text
    thoughts = [inner.text for part in parts if part.type == "thinking" for inner in part.thinking]
    assert "".join(thoughts) == "".join(
        part.thinking for part in ours.content if isinstance(part, ThinkingContent)
    )
    names = [call.function.name for one in said for call in one.tool_calls or () if call.function.name]
    assert names == [call.name for call in ours.tool_calls]
