"""Requests in the dialect `google-generative-ai`."""

from itertools import pairwise
from typing import Any

import pytest

from tau.ai.apis.google_generative_ai import build_body, url
from tau.ai.apis.request import encode
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import Model, ThinkingLevel
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
from tests.support.cloud_validators import validate_google

LEVELS: dict[ThinkingLevel, str | None] = {"off": None, "minimal": None, "low": "low", "high": "high"}
GEMINI_3 = model(
    "google-generative-ai", input=("text", "image"), thinking_level_map=LEVELS, context_window=1_000_000
)
GEMINI_2 = model("google-generative-ai", input=("text", "image"), context_window=1_000_000)
OTHER = model("openai-completions", id="gpt", provider="other")
IMAGE = ImageContent("aGk=", "image/png")
READ = ToolSpec(
    "read",
    "Reads a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"$ref": "#/$defs/Lines"}},
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"Lines": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    },
)


def answer(speaker: Model, *content: Any) -> AssistantMessage:
    return AssistantMessage(list(content), speaker.api, speaker.provider, speaker.id, Usage(), "toolUse", 2)


def result(id: str, *content: Any, failed: bool = False) -> ToolResultMessage:
    return ToolResultMessage(id, "read", list(content) or [TextContent("x")], failed, 3)


def history(speaker: Model) -> list[AppMessage]:
    return [
        UserMessage("Look.", 1),
        answer(
            speaker,
            ThinkingContent("I should read.", "dGhvdWdodA=="),
            ThinkingContent("A summary."),
            TextContent("Reading.", "dGV4dA=="),
            ToolCall("c1", "read", {"path": "a.png"}, "Y2FsbA=="),
            ToolCall("c2", "read", {"path": "b"}),
        ),
        result("c1", TextContent("a.png:"), IMAGE),
        result("c2", TextContent("no such file"), failed=True),
    ]


def body(speaker: Model, messages: list[AppMessage], **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"system": "Be brief.", "tools": [READ], "max_tokens": 8000, **more}
    built = build_body(speaker, Request(messages=normalize_history(messages, speaker), **fields))
    assert validate_google(built) == []
    return built


def test_conversation_with_a_model_of_the_third_generation() -> None:
    assert body(GEMINI_3, history(GEMINI_3), thinking="high") == {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "read",
                        "description": "Reads a file.",
                        "parametersJsonSchema": {
                            "type": "object",
                            "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
                            "required": ["path"],
                        },
                    }
                ]
            }
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I should read.", "thought": True, "thoughtSignature": "dGhvdWdodA=="},
                    {"text": "Reading.", "thoughtSignature": "dGV4dA=="},
                    {
                        "functionCall": {"id": "c1", "name": "read", "args": {"path": "a.png"}},
                        "thoughtSignature": "Y2FsbA==",
                    },
                    {"functionCall": {"id": "c2", "name": "read", "args": {"path": "b"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "c1",
                            "name": "read",
                            "response": {"output": "a.png:"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
                        }
                    },
                    {
                        "functionResponse": {
                            "id": "c2",
                            "name": "read",
                            "response": {"error": "no such file"},
                        }
                    },
                ],
            },
        ],
        "generationConfig": {
            "maxOutputTokens": 8000,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
        },
    }


def test_smallest_request_has_no_empty_fields() -> None:
    small = body(GEMINI_2, [UserMessage("hi", 1)], system="", tools=[])
    assert encode(small) == (
        b'{"contents":[{"role":"user","parts":[{"text":"hi"}]}],'
        b'"generationConfig":{"maxOutputTokens":8000,"thinkingConfig":{"thinkingBudget":0}}}'
    )


def test_images_of_results_come_from_the_user_for_older_models() -> None:
    contents = body(GEMINI_2, history(GEMINI_2))["contents"]
    assert all("parts" not in part["functionResponse"] for part in contents[2]["parts"])
    assert contents[3] == {
        "role": "user",
        "parts": [
            {"text": "Images from read:"},
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        ],
    }


def signatures(speaker: Model, messages: list[AppMessage]) -> list[str | None]:
    """Of all calls."""
    parts = [part for content in body(speaker, messages)["contents"] for part in content["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


SKIP = "skip_thought_signature_validator"


def test_calls_of_another_model_were_refused_for_missing_signatures() -> None:
    messages = [*history(OTHER), answer(OTHER, ToolCall("c3", "read", {})), result("c3")]
    assert signatures(GEMINI_3, messages) == [SKIP, None, SKIP]  # none for a parallel sibling
    assert signatures(GEMINI_3, [*messages, UserMessage("And?", 9)]) == [None] * 3  # the turn is over
    assert signatures(GEMINI_2, messages) == [None] * 3  # not required


def test_own_signatures_stay_in_later_turns() -> None:
    messages = [*history(GEMINI_3), UserMessage("And?", 9)]
    assert signatures(GEMINI_3, messages) == ["Y2FsbA==", None]
    assert "thoughtSignature" not in encode(body(GEMINI_2, [*history(OTHER)])).decode()


@pytest.mark.parametrize(
    ("speaker", "level", "expected"),
    [
        (GEMINI_3, "low", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        (GEMINI_3, "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        (GEMINI_3, "off", {"thinkingLevel": "LOW"}),
        (GEMINI_2, "off", {"thinkingBudget": 0}),
        (GEMINI_2, "minimal", {"includeThoughts": True, "thinkingBudget": 1024}),
        (GEMINI_2, "high", {"includeThoughts": True, "thinkingBudget": 16384}),
        (GEMINI_2, "xhigh", {"includeThoughts": True, "thinkingBudget": 24576}),
        (
            model("google-generative-ai", thinking_level_map={"off": "128", "xhigh": "32768"}),
            "off",
            {"thinkingBudget": 128},
        ),
        (model("google-generative-ai", thinking_level_map={"off": None}), "off", None),
        (model("google-generative-ai", reasoning=False), "high", None),
    ],
)
def test_thinking_follows_the_models_data(speaker: Model, level: ThinkingLevel, expected: Any) -> None:
    config = body(speaker, [UserMessage("hi", 1)], thinking=level)["generationConfig"]
    assert config.get("thinkingConfig") == expected


def test_budget_is_part_of_the_answer_and_leaves_room() -> None:
    config = body(GEMINI_2, [UserMessage("hi", 1)], thinking="high")["generationConfig"]
    assert config["maxOutputTokens"] == 8000 + 16384
    small = model("google-generative-ai", max_tokens=4096)
    config = body(small, [UserMessage("hi", 1)], thinking="high")["generationConfig"]
    assert (config["maxOutputTokens"], config["thinkingConfig"]["thinkingBudget"]) == (4096, 3072)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("read", {"mode": "ANY", "allowedFunctionNames": ["read"]}),
    ],
)
def test_tool_choice(choice: str, expected: dict[str, Any]) -> None:
    asked = body(GEMINI_3, [UserMessage("hi", 1)], tool_choice=choice)
    assert asked["toolConfig"] == {"functionCallingConfig": expected}
    assert "toolConfig" not in body(GEMINI_3, [UserMessage("hi", 1)])


def test_temperature_is_sent() -> None:
    assert body(GEMINI_3, [UserMessage("hi", 1)], temperature=0.2)["generationConfig"]["temperature"] == 0.2


@pytest.mark.parametrize("speaker", [GEMINI_2, GEMINI_3])
def test_successive_requests_share_a_prefix(speaker: Model) -> None:
    messages: list[AppMessage] = []
    bodies: list[bytes] = []
    for turn in range(4):
        messages.append(UserMessage(f"question {turn}", turn))
        bodies.append(encode(body(speaker, messages)))
        call = ToolCall(f"c{turn}", "read", {"turn": turn}, "Y2FsbA==")
        messages += [answer(speaker, call), result(f"c{turn}", IMAGE)]
        bodies.append(encode(body(speaker, messages)))
        messages.append(answer(speaker, TextContent(f"answer {turn}", "dGV4dA==")))
    for before, after in pairwise(bodies):
        assert after.startswith(before[: before.index(b'],"generationConfig"')])


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://g.example", "https://g.example/v1beta"),
        ("https://g.example/v1beta/", "https://g.example/v1beta"),
        ("https://g.example/v1", "https://g.example/v1"),
        (
            "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/google",
            "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/google",
        ),
    ],
)
def test_address_may_have_the_version_or_not(base: str, expected: str) -> None:
    assert url(base, "gemini-x") == f"{expected}/models/gemini-x:streamGenerateContent?alt=sse"
    assert url(base, "models/a/b").endswith("/models/a%2Fb:streamGenerateContent?alt=sse")
