"""Requests in the dialect `ollama-chat`."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tau.ai.apis.ollama_body import build_body
from tau.ai.apis.request import encode
from tau.ai.dialect import Request
from tau.ai.model import Compat, Model, ThinkingLevel
from tau.ai.wire import TextContent, UserMessage
from tests.ai.dialect_client import HELLO, conversation, model
from tests.support.fake_ollama import validate_ollama

LLAMA = model("ollama-chat", input=("text", "image"))
IMAGE = "iVBORw0KGgo="


def body(speaker: Model, request: Request) -> dict[str, Any]:
    built = build_body(speaker, request)
    plain: dict[str, Any] = msgspec.json.decode(encode(built))
    assert validate_ollama(plain) == []
    return plain


def test_conversation_with_images_thinking_parallel_calls_and_a_failure() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    call_1 = {"index": 0, "name": "read", "arguments": {"path": "a.png"}}
    call_2 = {"index": 1, "name": "bash", "arguments": {"command": "false"}}
    assert body(LLAMA, conversation(LLAMA)) == {
        "model": "m",
        "tools": [
            {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": schema}},
            {"type": "function", "function": {"name": "bash", "description": "Runs.", "parameters": schema}},
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is this?", "images": [IMAGE]},
            {
                "role": "assistant",
                "content": "Reading.",
                "thinking": "Hm.",
                "tool_calls": [
                    {"id": "call_1", "function": call_1},
                    {"id": "call_2", "function": call_2},
                ],
            },
            {"role": "tool", "content": "", "tool_name": "read", "tool_call_id": "call_1", "images": [IMAGE]},
            {"role": "tool", "content": "exit code 1", "tool_name": "bash", "tool_call_id": "call_2"},
            {"role": "user", "content": "Go on."},
        ],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_predict": 1000},
        "think": True,
    }


@pytest.mark.parametrize(
    ("words", "level", "sent"),
    [
        ({}, "off", False),
        ({}, "high", True),
        ({"low": "low", "high": "high", "off": None}, "high", "high"),
        ({"low": "low", "high": "high", "off": None}, "low", "low"),
    ],
)
def test_thinking_is_asked_for_and_turned_off(
    words: dict[ThinkingLevel, str | None], level: ThinkingLevel, sent: bool | str
) -> None:
    speaker = model("ollama-chat", thinking_level_map=words)
    assert body(speaker, replace(HELLO, thinking=level))["think"] == sent


def test_model_without_thinking_is_not_asked_for_it() -> None:
    assert "think" not in body(model("ollama-chat", reasoning=False), HELLO)


def test_context_size_is_sent_with_every_request_or_with_none() -> None:
    sized = model("ollama-chat", compat=Compat(num_ctx=32_768))
    assert body(sized, HELLO)["options"]["num_ctx"] == 32_768
    assert "num_ctx" not in body(LLAMA, HELLO)["options"]


@pytest.mark.parametrize(
    ("choice", "offered"),
    [("auto", ["read", "bash"]), ("required", ["read", "bash"]), ("none", []), ("bash", ["bash"])],
)
def test_tool_choice_limits_what_is_offered(choice: str, offered: list[str]) -> None:
    sent = body(LLAMA, replace(conversation(LLAMA), tool_choice=choice))
    assert [tool["function"]["name"] for tool in sent.get("tools", ())] == offered


def test_answer_fits_the_context() -> None:
    small = model("ollama-chat", context_window=4096)
    assert body(small, HELLO)["options"]["num_predict"] == 1000
    long = [UserMessage([TextContent("word " * 3000)], 1)]
    sent = body(small, Request(system="", messages=[*long], tools=[], max_tokens=4000))
    assert sent["options"]["num_predict"] == 512
