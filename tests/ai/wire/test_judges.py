"""The vendors' own clients as judges: their types accept our requests, and they read streams as we do."""

import asyncio
import copy
import importlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tau.ai.apis.request import encode
from tau.ai.wire import signature_of
from tests.ai.dialect_client import HELLO, message, model
from tests.ai.wire.byte_stream import deltas_of
from tests.ai.wire.judges import MISSING, PARAMS, judge_of
from tests.ai.wire.random_requests import RandomRequests
from tests.support.fake_answers import Answer, Call, Text, Thinking, Usage
from tests.support.fake_dialects import BY_API
from tests.support.fake_server import FakeServer

COUNT = [50, pytest.param(2000, marks=pytest.mark.soak)]
ANSWER = Answer(
    (
        Thinking("Hm, é.", "sealed", deltas=2),
        Text('Let "me" \U0001f600 see.', deltas=3),
        Call("read", {"path": "a\n\\b.py"}, id="c1", deltas=3),
        Call("read", {}, id="c2"),
    ),
    Usage(input=7, output=5, cache_read=3),
)


def body_of(requests: RandomRequests, api: str) -> dict[str, Any]:
    speaker, request = requests.next()
    module: Any = importlib.import_module(f"tau.ai.apis.{api.replace('-', '_')}")
    body: dict[str, Any] = msgspec.json.decode(encode(module.build_body(speaker, request)))
    return body


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", COUNT)
@pytest.mark.parametrize("api", PARAMS)
def test_random_requests_are_accepted(api: str, count: int) -> None:
    judge, requests = judge_of(api), RandomRequests(api, 7)
    for number in range(count):
        body = body_of(requests, api)
        assert BY_API[api].validate(body) == [], (number, json.dumps(body))
        try:
            judge(body)
        except Exception as error:
            raise AssertionError(f"request {number}: {json.dumps(body)}") from error


def full_body() -> dict[str, Any]:
    """A request of `openai-responses` with every kind of item."""
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}", "id": "fc_1"}
    custom = {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "x"}
    picture = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
    return {
        "model": "m",
        "tools": [
            {"type": "function", "name": "read", "description": "", "parameters": {}, "strict": False},
            {
                "type": "custom",
                "name": "apply_patch",
                "description": "",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
            },
        ],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}, picture]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "x", "annotations": []}],
                "phase": "commentary",
            },
            call,
            custom,
            {"type": "function_call_output", "call_id": "c1", "output": [picture]},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 100,
        "tool_choice": "required",
        "reasoning": {"effort": "low", "summary": "auto"},
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
    }


MISTAKES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "unknown field": (("conversation_id",), "x"),
    "model is a number": (("model",), 5),
    "stream is off": (("stream",), False),
    "store is a word": (("store",), "no"),
    "unknown include": (("include", 0), "reasoning.plain"),
    "limit is text": (("max_output_tokens",), "100"),
    "unknown choice": (("tool_choice",), "must"),
    "unknown effort": (("reasoning", "effort"), "huge"),
    "unknown summary": (("reasoning", "summary"), "long"),
    "unknown retention": (("prompt_cache_retention",), "1h"),
    "tool without a name": (("tools", 0, "name"), None),
    "tool of an unknown kind": (("tools", 0, "type"), "tool"),
    "grammar of an unknown syntax": (("tools", 1, "format", "syntax"), "bnf"),
    "unknown role": (("input", 0, "role"), "tool"),
    "text of the other side": (("input", 0, "content", 0, "type"), "output_text"),
    "unknown detail": (("input", 0, "content", 1, "detail"), "tiny"),
    "reasoning without a summary": (("input", 1, "summary"), None),
    "unknown phase": (("input", 2, "phase"), "middle"),
    "status of an answer": (("input", 2, "status"), "done"),
    "arguments as an object": (("input", 3, "arguments"), {}),
    "call without an id": (("input", 3, "call_id"), None),
    "text of a custom call is missing": (("input", 4, "input"), None),
    "output is a number": (("input", 5, "output"), 7),
    "output of an unknown kind": (("input", 6, "type"), "tool_output"),
}


def planted() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (path, value) in MISTAKES.items():
        body = copy.deepcopy(full_body())
        place: Any = body
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        yield name, body


@pytest.mark.timeout(120)
def test_planted_mistakes_are_caught() -> None:
    judge = judge_of("openai-responses")
    judge(full_body())
    missed = []
    for name, body in planted():
        try:
            judge(body)
        except Exception:
            continue
        missed.append(name)
    assert len(MISTAKES) >= 20
    assert missed == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("streams", [True, False])
def test_openai_reads_answers_as_we_do(streams: bool) -> None:
    openai = pytest.importorskip("openai", reason=MISSING)
    spoken, speaker = BY_API["openai-responses"], model("openai-responses")
    ours = message(speaker, asyncio.run(deltas_of(speaker, HELLO, b"".join(spoken.events(ANSWER, {})))))
    with FakeServer() as server:
        server.script(ANSWER)
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client:
            question = {"model": "m", "input": [{"role": "user", "content": "hi"}]}
            if streams:
                with client.responses.stream(**question, store=False) as events:
                    seen = [event.delta for event in events if event.type == "response.output_text.delta"]
                    theirs = events.get_final_response()
                assert "".join(seen) == ours.text
            else:
                theirs = client.responses.create(**question, store=False)
    assert theirs.output_text == ours.text
    calls = [item for item in theirs.output if item.type == "function_call"]
    assert [(call.call_id, call.name, json.loads(call.arguments)) for call in calls] == [
        (call.id, call.name, call.arguments) for call in ours.tool_calls
    ]
    thought = json.loads(signature_of(ours.content[0]))
    assert theirs.output[0].encrypted_content == thought["encrypted_content"] == "sealed"
    assert theirs.usage.input_tokens == ours.usage.input + ours.usage.cache_read
    assert theirs.usage.input_tokens_details.cached_tokens == ours.usage.cache_read
