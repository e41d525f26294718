"""Google's own SDK as the judge of our requests, and of the fake server's answers."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from tau.ai.apis.google_generative_ai import build_body
from tau.ai.apis.request import encode
from tau.ai.model import Model
from tests.ai.dialect_client import HELLO, message, model, talk
from tests.ai.wire.judges import google_judge
from tests.ai.wire.random_requests import random_request
from tests.support.cloud_validators import validate_google
from tests.support.fake_answers import Answer, Call, Text, Thinking, Usage
from tests.support.fake_server import FakeServer

genai = pytest.importorskip("google.genai", reason="needs the extra `judges`")
pytestmark = pytest.mark.filterwarnings("ignore")

SPEAKERS = [
    model("google-generative-ai", input=("text", "image"), context_window=1_000_000),
    model(
        "google-generative-ai",
        input=("text", "image"),
        context_window=1_000_000,
        thinking_level_map={"off": None, "minimal": None, "low": "low", "medium": "medium", "high": "high"},
    ),
]
COUNTS = [50, pytest.param(2_000, marks=pytest.mark.soak)]


def judge(body: bytes) -> None:
    google_judge()(msgspec.json.decode(body))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("speaker", SPEAKERS, ids=["budgets", "levels"])
@pytest.mark.holds_loop
def test_random_requests_are_valid(speaker: Model, count: int) -> None:
    for seed in range(count):
        body = encode(build_body(speaker, random_request(Random(seed), speaker)))
        assert validate_google(msgspec.json.decode(body)) == [], seed
        judge(body)


def _call(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        part["functionCall"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionCall" in part
    )
    return found


def _result(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        part["functionResponse"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    )
    return found


MISTAKES: dict[str, Callable[[dict[str, Any]], object]] = {
    "arguments as text": lambda body: _call(body).update(args="{}"),
    "arguments under another name": lambda body: _call(body).update(arguments=_call(body).pop("args")),
    "result as text": lambda body: _result(body).update(response="ok"),
    "system prompt as text": lambda body: body.update(systemInstruction="Be brief."),
    "answer length as text": lambda body: body["generationConfig"].update(maxOutputTokens="8k"),
    "unknown setting": lambda body: body["generationConfig"].update(reasoningEffort="high"),
    "parts that are no list": lambda body: body["contents"][0].update(parts={"text": "hi"}),
    "image that is not base64": lambda body: body["contents"][0]["parts"].append(
        {"inlineData": {"mimeType": "image/png", "data": "no base64!"}}
    ),
    "field of another vendor": lambda body: body["contents"][0].update(cache_control={"type": "ephemeral"}),
    "tools that are not declared as functions": lambda body: body["tools"].append({"name": "x"}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_caught(mistake: str) -> None:
    speaker = SPEAKERS[1]
    body = next(
        body
        for body in (build_body(speaker, random_request(Random(seed), speaker)) for seed in range(100))
        if "functionResponse" in str(body) and "tools" in body
    )
    plain = msgspec.json.decode(encode(body))
    judge(encode(plain))
    MISTAKES[mistake](plain)
    with pytest.raises(Exception, match=r"validation error|Extra inputs|Input should"):
        judge(encode(plain))


@pytest.mark.holds_loop
def test_sdk_reads_the_fake_servers_streams_as_we_do() -> None:
    from google.genai import types

    scripted = Answer(
        (
            Thinking("Hm, yes.", signature="c2ln", deltas=2),
            Text("Grüße, \U0001f600.", deltas=3),
            Call("read", {"path": "a", "n": [1, None]}, id="c1"),
            Call("job", {}, id="c2"),
        ),
        Usage(input=7, output=5, cache_read=3),
    )
    with FakeServer() as server:
        server.script(scripted)
        options = types.HttpOptions(base_url=server.url, api_version="v1beta")
        with genai.Client(api_key="x", http_options=options) as client:
            config = types.GenerateContentConfig(max_output_tokens=100)
            chunks = list(client.models.generate_content_stream(model="m", contents="hi", config=config))
        ours = message(SPEAKERS[1], asyncio.run(talk(server.url, SPEAKERS[1], HELLO)))
        assert server.problems == []
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    texts = "".join(part.text for part in parts if part.text and not part.thought)
    assert texts == ours.text == "Grüße, \U0001f600."
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.id, call.name, call.args or {}) for call in calls] == [
        (call.id, call.name, call.arguments) for call in ours.tool_calls
    ]
    usage = chunks[-1].usage_metadata
    assert usage.prompt_token_count == ours.usage.input + ours.usage.cache_read
    assert usage.cached_content_token_count == ours.usage.cache_read
    assert usage.candidates_token_count == ours.usage.output
    assert chunks[-1].candidates[0].finish_reason.value == "STOP"
