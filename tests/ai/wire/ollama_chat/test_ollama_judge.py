"""Ollama's own client as the judge of our requests, and of the fake server's answers."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from tau.ai.apis.ollama_body import build_body
from tau.ai.apis.request import encode
from tau.ai.model import Compat
from tests.ai.dialect_client import HELLO, message, model, talk
from tests.ai.wire.judges import ollama_judge, refuses
from tests.ai.wire.random_requests import random_request
from tests.support.fake_answers import Answer, Call, Text, Thinking, Usage
from tests.support.fake_ollama import validate_ollama
from tests.support.fake_server import FakeServer

ollama = pytest.importorskip("ollama", reason="needs the extra `judges`")
pytestmark = pytest.mark.filterwarnings("ignore")

LLAMA = model("ollama-chat", input=("text", "image"), context_window=100_000, compat=Compat(num_ctx=32_768))


def body_of(seed: int) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(encode(build_body(LLAMA, random_request(Random(seed), LLAMA))))
    return body


@pytest.mark.parametrize("count", [50, pytest.param(2_000, marks=pytest.mark.soak)])
@pytest.mark.holds_loop
def test_random_requests_are_accepted(count: int) -> None:
    judge = ollama_judge()
    for seed in range(count):
        body = body_of(seed)
        assert validate_ollama(body) == [], seed
        judge(body)


def _call(body: dict[str, Any]) -> dict[str, Any]:
    calls = (one["tool_calls"][0] for one in body["messages"] if one.get("tool_calls"))
    found: dict[str, Any] = next(calls)["function"]
    return found


def _result(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in body["messages"] if one["role"] == "tool")
    return found


MISTAKES: dict[str, Callable[[dict[str, Any]], object]] = {
    "arguments as text": lambda body: _call(body).update(arguments="{}"),
    "call without a name": lambda body: _call(body).pop("name"),
    "arguments under another name": lambda body: _call(body).update(args=_call(body).pop("arguments")),
    "result under another name": lambda body: _result(body).update(name=_result(body).pop("tool_name")),
    "content as a list": lambda body: body["messages"][0].update(content=[{"type": "text", "text": "hi"}]),
    "thinking under another name": lambda body: body["messages"][0].update(reasoning="x"),
    "image as a data URL": lambda body: body["messages"][0].update(images=[{"url": "data:,"}]),
    "message without a role": lambda body: body["messages"][0].pop("role"),
    "tool without an object": lambda body: body["tools"][0]["function"]["parameters"].update(type="array"),
    "context size as text": lambda body: body["options"].update(num_ctx="32k"),
    "answer length of another vendor": lambda body: body["options"].update(max_tokens=5),
    "field of another vendor": lambda body: body.update(tool_choice="auto"),
    "effort instead of thinking": lambda body: body.update(reasoning_effort="high"),
    "thinking as an object": lambda body: body.update(think={"type": "enabled"}),
    "model is missing": lambda body: body.pop("model"),
    "model is empty": lambda body: body.update(model=""),
    "stream is off": lambda body: body.update(stream=False),
    "options as a list": lambda body: body.update(options=[]),
    "tools as an object": lambda body: body.update(tools={"name": "read"}),
    "calls as an object": lambda body: body["messages"][0].update(tool_calls={"name": "read"}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_caught(mistake: str) -> None:
    judge = ollama_judge()
    body = next(
        body
        for body in map(body_of, range(100))
        if "tool_calls" in str(body) and "tools" in body and "'tool'" in str(body)
    )
    judge(body)
    MISTAKES[mistake](body)
    assert refuses(judge, body)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.holds_loop
def test_client_reads_the_fake_servers_answers_as_we_do(streams: bool) -> None:
    scripted = Answer(
        (
            Thinking("Hm, yes.", deltas=2),
            Text("Grüße, \U0001f600.", deltas=3),
            Call("read", {"path": "a\n", "n": [1, None]}, id="c1"),
            Call("job", {}, id="c2"),
        ),
        Usage(input=7, output=5),
    )
    with FakeServer() as server:
        server.script(scripted)
        client = ollama.Client(host=server.url)
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        chunks = list(client.chat(**asked, stream=True)) if streams else [client.chat(**asked)]
        client._client.close()
        ours = message(LLAMA, asyncio.run(talk(server.url, LLAMA, HELLO)))
        assert server.problems == []
    said = [chunk.message for chunk in chunks]
    assert "".join(one.content or "" for one in said) == ours.text
    assert "".join(one.thinking or "" for one in said) == "Hm, yes."
    calls = [call.function for one in said for call in one.tool_calls or ()]
    assert [(call.name, dict(call.arguments)) for call in calls] == [
        (call.name, call.arguments) for call in ours.tool_calls
    ]
    assert (chunks[-1].prompt_eval_count, chunks[-1].eval_count) == (ours.usage.input, ours.usage.output)
    assert (chunks[-1].done, chunks[-1].done_reason) == (True, "stop")
