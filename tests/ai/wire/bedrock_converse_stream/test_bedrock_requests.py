"""Requests in the dialect `bedrock-converse-stream`."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from tau.ai.apis.bedrock_converse_stream import build_body, url
from tau.ai.apis.request import encode
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import Compat, Model, Price, ThinkingLevel
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.ai.dialect_client import model
from tests.support.cloud_validators import validate_bedrock

CLAUDE = model(
    "bedrock-converse-stream",
    id="us.anthropic.claude-sonnet-4-5-v1:0",
    input=("text", "image"),
    cost=Price(3, 15, 0.3, 3.75),
    context_window=200_000,
)
IMAGE = ImageContent("aGk=", "image/png")
READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
POINT = {"cachePoint": {"type": "default"}}


def answer(*content: Any, speaker: Model = CLAUDE) -> AssistantMessage:
    return AssistantMessage(list(content), speaker.api, speaker.provider, speaker.id, Usage(), "toolUse", 2)


def result(id: str, *content: Any, failed: bool = False) -> ToolResultMessage:
    return ToolResultMessage(id, "read", list(content) or [TextContent("x")], failed, 3)


def history() -> list[AppMessage]:
    return [
        UserMessage("Look.", 1),
        answer(
            ThinkingContent("I should read.", "sig"),
            ThinkingContent("", "c2VjcmV0", True),
            ThinkingContent("Unsigned."),
            TextContent("Reading."),
            ToolCall("c1", "read", {"path": "a.png"}),
            ToolCall("c2", "read", {"path": "b"}),
        ),
        result("c1", TextContent("a.png:"), IMAGE),
        result("c2", TextContent("no such file"), failed=True),
        UserMessage([TextContent("And this?"), ImageContent("aGk=", "image/jpeg")], 4),
    ]


def body(messages: list[AppMessage], speaker: Model = CLAUDE, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"system": "Be brief.", "tools": [READ], "max_tokens": 8000, **more}
    built = build_body(speaker, Request(messages=normalize_history(messages, speaker), **fields))
    assert validate_bedrock(built) == []
    return built


def test_conversation() -> None:
    assert body(history(), thinking="low") == {
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "read",
                        "description": "Reads a file.",
                        "inputSchema": {"json": READ.parameters},
                    }
                }
            ]
        },
        "system": [{"text": "Be brief."}, POINT],
        "messages": [
            {"role": "user", "content": [{"text": "Look."}, POINT]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "I should read.", "signature": "sig"}}},
                    {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
                    {"text": "Reading."},
                    {"toolUse": {"toolUseId": "c1", "name": "read", "input": {"path": "a.png"}}},
                    {"toolUse": {"toolUseId": "c2", "name": "read", "input": {"path": "b"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "c1",
                            "content": [
                                {"text": "a.png:"},
                                {"image": {"format": "png", "source": {"bytes": "aGk="}}},
                            ],
                        }
                    },
                    {
                        "toolResult": {
                            "toolUseId": "c2",
                            "content": [{"text": "no such file"}],
                            "status": "error",
                        }
                    },
                    {"text": "And this?"},
                    {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}},
                    POINT,
                ],
            },
        ],
        "inferenceConfig": {"maxTokens": 8000 + 2048},
        "additionalModelRequestFields": {
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "anthropic_beta": ["interleaved-thinking-2025-05-14"],
        },
    }


def test_smallest_request_has_no_empty_fields() -> None:
    plain = replace(CLAUDE, cost=Price())
    assert encode(body([UserMessage("hi", 1)], plain, system="", tools=[])) == (
        b'{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":8000}}'
    )


def named(id: str, **more: Any) -> Model:
    return replace(CLAUDE, id=id, **more)


@pytest.mark.parametrize(
    ("speaker", "level", "expected"),
    [
        (CLAUDE, "off", None),
        (
            named("global.anthropic.claude-opus-4-6-v1", thinking_level_map={"max": "max"}),
            "max",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}},
        ),
        (
            named("opaque-profile.anthropic.x", compat=Compat(adaptive_thinking=True)),
            "minimal",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
        ),
        (named("openai.gpt-oss-120b-1:0"), "high", {"reasoning_effort": "high"}),
        (
            named("us.amazon.nova-2-lite-v1:0"),
            "medium",
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}},
        ),
        (named("us.deepseek.r1-v1:0"), "high", None),
        (named("us.anthropic.claude-x", reasoning=False), "high", None),
        (
            named("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-x-v1:0"),
            "minimal",
            {
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "anthropic_beta": ["interleaved-thinking-2025-05-14"],
            },
        ),
    ],
    ids=lambda value: value.id if isinstance(value, Model) else None,
)
def test_thinking_is_in_the_vendors_own_fields(speaker: Model, level: ThinkingLevel, expected: Any) -> None:
    built = body([UserMessage("hi", 1)], speaker, thinking=level)
    assert built.get("additionalModelRequestFields") == expected


def test_thinking_is_not_enabled_between_a_call_and_its_result() -> None:
    messages: list[AppMessage] = [UserMessage("hi", 1), answer(ToolCall("c1", "read", {})), result("c1")]
    assert "additionalModelRequestFields" not in body(messages, thinking="high")
    later = [*messages, answer(TextContent("Done.")), UserMessage("more", 5)]
    assert "additionalModelRequestFields" in body(later, thinking="high")


def test_temperature_and_thinking_exclude_each_other() -> None:
    assert body([UserMessage("hi", 1)], temperature=1.5)["inferenceConfig"]["temperature"] == 1
    config = body([UserMessage("hi", 1)], temperature=0.2, thinking="low")["inferenceConfig"]
    assert "temperature" not in config


@pytest.mark.parametrize(
    ("choice", "expected"), [("required", {"any": {}}), ("read", {"tool": {"name": "read"}})]
)
def test_tool_choice(choice: str, expected: dict[str, Any]) -> None:
    assert body([UserMessage("hi", 1)], tool_choice=choice)["toolConfig"]["toolChoice"] == expected
    assert "toolChoice" not in body([UserMessage("hi", 1)])["toolConfig"]


def test_forbidden_tools_are_not_offered() -> None:
    assert "toolConfig" not in body([UserMessage("hi", 1)], tool_choice="none")
    assert "toolChoice" not in body(history(), tool_choice="none")["toolConfig"]


def test_history_with_calls_was_refused_when_no_tools_were_offered() -> None:
    [tool] = body(history(), tools=[])["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "read"


def test_roles_alternate() -> None:
    messages: list[AppMessage] = [
        UserMessage("one", 1),
        UserMessage("two", 1),
        answer(TextContent("a")),
        answer(TextContent("b")),
        UserMessage("three", 1),
    ]
    sent = body(messages, replace(CLAUDE, cost=Price()))["messages"]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("user", [{"text": "one"}, {"text": "two"}]),
        ("assistant", [{"text": "a"}, {"text": "b"}]),
        ("user", [{"text": "three"}]),
    ]


@pytest.mark.parametrize(
    ("speaker", "retention", "expected"),
    [
        (CLAUDE, "short", {"type": "default"}),
        (CLAUDE, "long", {"type": "default"}),
        (
            replace(CLAUDE, compat=Compat(supports_long_cache_retention=True)),
            "long",
            {"type": "default", "ttl": "1h"},
        ),
        (CLAUDE, "none", None),
        (replace(CLAUDE, cost=Price(1, 2)), "short", None),
        (replace(CLAUDE, compat=Compat(cache_control=False)), "short", None),
    ],
)
def test_cache_points(speaker: Model, retention: str, expected: Any) -> None:
    system = body(history(), speaker, cache_retention=retention)["system"]
    assert system[1:] == ([] if expected is None else [{"cachePoint": expected}])


def test_answer_that_ends_in_thinking_does_not_break_later_requests() -> None:
    messages: list[AppMessage] = [
        UserMessage("hi", 1),
        answer(ThinkingContent("a", "sig"), TextContent("So."), ThinkingContent("b", "sig")),
        UserMessage("more", 3),
    ]
    assert list(body(messages, thinking="high")["messages"][1]["content"][-1]) == ["text"]


def test_successive_requests_share_a_prefix() -> None:
    """Except for the cache points, which move."""
    messages: list[AppMessage] = []
    bodies: list[bytes] = []
    for turn in range(5):
        messages.append(UserMessage(f"question {turn}", turn))
        bodies.append(encode(body(messages)))
        messages += [answer(ToolCall(f"c{turn}", "read", {"turn": turn})), result(f"c{turn}", IMAGE)]
        bodies.append(encode(body(messages)))
        messages.append(answer(TextContent(f"answer {turn}")))
    mark = b',{"cachePoint":{"type":"default"}}'
    for before, after in pairwise(bodies):
        plain = before.replace(mark, b"")
        assert after.replace(mark, b"").startswith(plain[: plain.index(b']}],"inferenceConfig"')])


def test_ids_and_arns_are_encoded_in_the_address() -> None:
    base = "https://bedrock-runtime.us-east-1.amazonaws.com"
    assert url(f"{base}/", "eu.anthropic.claude-x-v1:0") == (
        f"{base}/model/eu.anthropic.claude-x-v1%3A0/converse-stream"
    )
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2"
    assert url(base, arn) == (
        f"{base}/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012"
        "%3Aapplication-inference-profile%2Fa1b2/converse-stream"
    )
