"""Request bodies, byte for byte: servers cache the common prefix of requests."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tau.ai.apis.anthropic_messages import build_body as anthropic
from tau.ai.apis.openai_completions import build_body as built_for_openai
from tau.ai.apis.request import encode
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import Compat, Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.support.validators import validate_anthropic

CLAUDE = Model(
    id="claude-x",
    name="Claude X",
    api="anthropic-messages",
    provider="anthropic",
    base_url="https://a",
    reasoning=True,
    input=("text", "image"),
    context_window=200_000,
    max_tokens=64_000,
)
GPT = Model(
    id="gpt-x",
    name="GPT X",
    api="openai-completions",
    provider="openai",
    base_url="https://o/v1",
    reasoning=True,
    input=("text", "image"),
    max_tokens=32_000,
)
READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
BASH = ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}})


def openai(model: Model, wanted: Request) -> dict[str, Any]:
    """The request as plain values."""
    body: dict[str, Any] = msgspec.to_builtins(built_for_openai(model, wanted))
    return body


def answer(model: Model, *content: Any) -> AssistantMessage:
    return AssistantMessage(list(content), model.api, model.provider, model.id, Usage(), "toolUse", 2)


def conversation(model: Model) -> list[Message]:
    return [
        UserMessage("Look at a.", 1),
        answer(
            model,
            ThinkingContent("I should read.", "sig"),
            ThinkingContent("", "secret", True),
            TextContent("Reading."),
            ToolCall("c1", "read", {"path": "a.png"}),
            ToolCall("c2", "bash", {"command": "false"}),
        ),
        ToolResultMessage("c1", "read", [TextContent("a.png:"), ImageContent("aGk=", "image/png")], False, 3),
        ToolResultMessage("c2", "bash", [TextContent("failed")], True, 3),
        UserMessage([TextContent("And this?"), ImageContent("aGk=", "image/jpeg")], 4),
    ]


def request(messages: list[Message], **more: Any) -> Request:
    fields: dict[str, Any] = {"system": "Be brief.", "tools": [READ, BASH], "max_tokens": 8000, **more}
    return Request(messages=messages, **fields)


CACHED = {"cache_control": {"type": "ephemeral"}}


def test_anthropic_conversation() -> None:
    body = anthropic(CLAUDE, request(conversation(CLAUDE)))
    assert list(body) == ["model", "tools", "system", "messages", "max_tokens", "stream"]
    assert body == {
        "model": "claude-x",
        "tools": [
            {"name": "read", "description": "Reads a file.", "input_schema": READ.parameters},
            {"name": "bash", "description": "Runs a command.", "input_schema": BASH.parameters, **CACHED},
        ],
        "system": [{"type": "text", "text": "Be brief.", **CACHED}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look at a."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I should read.", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "secret"},
                    {"type": "text", "text": "Reading."},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.png"}},
                    {"type": "tool_use", "id": "c2", "name": "bash", "input": {"command": "false"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [
                            {"type": "text", "text": "a.png:"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                            },
                        ],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "failed"}],
                        "is_error": True,
                        **CACHED,
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And this?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="},
                        **CACHED,
                    },
                ],
            },
        ],
        "max_tokens": 8000,
        "stream": True,
    }


def test_openai_conversation() -> None:
    body = openai(GPT, request(conversation(GPT)))
    assert list(body) == ["model", "tools", "messages", "stream", "stream_options", "max_tokens"]
    assert body == {
        "model": "gpt-x",
        "tools": [
            {
                "type": "function",
                "function": {"name": "read", "description": "Reads a file.", "parameters": READ.parameters},
            },
            {
                "type": "function",
                "function": {"name": "bash", "description": "Runs a command.", "parameters": BASH.parameters},
            },
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look at a."},
            {
                "role": "assistant",
                "content": "Reading.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path":"a.png"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"command":"false"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a.png:"},
            {"role": "tool", "tool_call_id": "c2", "content": "failed"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Images from read:"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}},
                ],
            },
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 8000,
    }


def test_smallest_requests_have_no_empty_fields() -> None:
    small = request([UserMessage("hi", 1)], system="", tools=[])
    assert encode(anthropic(CLAUDE, small)) == (
        b'{"model":"claude-x","messages":[{"role":"user","content":[{"type":"text","text":"hi",'
        b'"cache_control":{"type":"ephemeral"}}]}],"max_tokens":8000,"stream":true}'
    )
    assert encode(built_for_openai(GPT, small)) == (
        b'{"model":"gpt-x","messages":[{"role":"user","content":"hi"}],"stream":true,'
        b'"stream_options":{"include_usage":true},"max_tokens":8000}'
    )


def test_lone_surrogate_in_the_system_prompt_does_not_stop_a_request() -> None:
    body = encode(built_for_openai(GPT, request([UserMessage("hi", 1)], system="a\ud800b")))
    assert "a\ufffdb" in body.decode()


@pytest.mark.parametrize(
    ("level", "asked", "allowed", "budget"),
    [
        ("minimal", 8000, 9024, 1024),
        ("low", 8000, 10048, 2048),
        ("medium", 8000, 16192, 8192),
        ("high", 8000, 24384, 16384),
        ("xhigh", 8000, 40768, 32768),
        ("xhigh", 64000, 64000, 32768),
        ("xhigh", 1, 32769, 31745),
    ],
)
def test_thinking_budget_leaves_room_for_the_answer(
    level: Any, asked: int, allowed: int, budget: int
) -> None:
    body = anthropic(CLAUDE, request([UserMessage("hi", 1)], thinking=level, max_tokens=asked))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == allowed > budget


def test_model_too_small_to_think_is_not_asked_to() -> None:
    tiny = msgspec.structs.replace(CLAUDE, max_tokens=2000)
    body = anthropic(tiny, request([UserMessage("hi", 1)], thinking="high", max_tokens=2000))
    assert "thinking" not in body
    assert body["max_tokens"] == 2000


@pytest.mark.parametrize(
    ("level", "effort"),
    [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high"), ("xhigh", "max")],
)
def test_adaptive_thinking_uses_effort(level: Any, effort: str) -> None:
    adaptive = msgspec.structs.replace(CLAUDE, compat=Compat(adaptive_thinking=True))
    body = anthropic(adaptive, request([UserMessage("hi", 1)], thinking=level))
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": effort}
    assert body["max_tokens"] == 8000


def test_temperature_and_thinking_exclude_each_other() -> None:
    hot = request([UserMessage("hi", 1)], temperature=0.2)
    assert anthropic(CLAUDE, hot)["temperature"] == 0.2
    assert openai(GPT, hot)["temperature"] == 0.2
    thinking = request([UserMessage("hi", 1)], temperature=0.2, thinking="low")
    assert "temperature" not in anthropic(CLAUDE, thinking)


def test_thinking_is_not_enabled_between_a_call_and_its_result() -> None:
    """With thinking on, the server refuses calls without it, such as those of another model."""
    messages: list[Message] = [
        UserMessage("hi", 1),
        answer(CLAUDE, TextContent("Reading."), ToolCall("c1", "read", {})),
        ToolResultMessage("c1", "read", [TextContent("x")], False, 3),
    ]
    assert "thinking" not in anthropic(CLAUDE, request(messages, thinking="high"))
    later = [*messages, answer(CLAUDE, TextContent("Done.")), UserMessage("more", 5)]
    assert "thinking" in anthropic(CLAUDE, request(later, thinking="high"))


def test_text_after_a_call_does_not_enable_thinking() -> None:
    messages: list[Message] = [
        UserMessage("hi", 1),
        answer(CLAUDE, ToolCall("c1", "read", {}), TextContent("Reading.")),
        ToolResultMessage("c1", "read", [TextContent("x")], False, 3),
    ]
    body = anthropic(CLAUDE, request(messages, thinking="high"))
    assert "thinking" not in body and validate_anthropic(body) == []


def test_call_after_an_interrupted_answer_without_thinking_does_not_enable_it() -> None:
    thought = ThinkingContent("Hm.", "sig")
    messages: list[Message] = [
        UserMessage("hi", 1),
        answer(CLAUDE, TextContent("Let me")),
        answer(CLAUDE, thought, ToolCall("c1", "read", {})),
        ToolResultMessage("c1", "read", [TextContent("x")], False, 3),
    ]
    body = anthropic(CLAUDE, request(messages, thinking="high"))
    assert "thinking" not in body and validate_anthropic(body) == []


@pytest.mark.parametrize("last", [ThinkingContent("Hm.", "sig"), ThinkingContent("", "data", True)])
@pytest.mark.parametrize("before", [TextContent("So."), ToolCall("c1", "read", {})])
def test_answer_that_ends_in_thinking_does_not_break_later_requests(
    before: TextContent | ToolCall, last: ThinkingContent
) -> None:
    history = [
        UserMessage("hi", 1),
        answer(CLAUDE, ThinkingContent("First.", "sig"), before, last),
        UserMessage("more", 3),
    ]
    body = anthropic(CLAUDE, request(normalize_history(history, CLAUDE), thinking="high"))
    assert validate_anthropic(body) == []
    assert [block["type"] for block in body["messages"][1]["content"]][:-1] == ["thinking"]


def test_model_without_thinking_is_not_asked_to() -> None:
    thinking = request([UserMessage("hi", 1)], thinking="high")
    assert "thinking" not in anthropic(msgspec.structs.replace(CLAUDE, reasoning=False), thinking)
    assert "reasoning_effort" not in openai(msgspec.structs.replace(GPT, reasoning=False), thinking)
    assert "reasoning_effort" not in openai(GPT, request([UserMessage("hi", 1)], thinking="off"))


@pytest.mark.parametrize(
    ("level", "effort"),
    [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high"), ("xhigh", "high")],
)
def test_effort_uses_only_levels_every_server_knows(level: Any, effort: str) -> None:
    assert openai(GPT, request([UserMessage("hi", 1)], thinking=level))["reasoning_effort"] == effort


def test_no_cache_marks_when_disabled() -> None:
    plain = msgspec.structs.replace(CLAUDE, compat=Compat(cache_control=False))
    assert b"cache_control" not in encode(anthropic(plain, request(conversation(plain))))


def test_request_never_exceeds_the_allowed_cache_marks() -> None:
    messages = [part for _ in range(20) for part in conversation(CLAUDE)]
    assert encode(anthropic(CLAUDE, request(messages))).count(b"cache_control") == 4


def test_prompt_and_answer_fit_the_window_together() -> None:
    """Many servers refuse a request that could exceed the window."""
    small = msgspec.structs.replace(GPT, context_window=40_000)

    def allowed(text: str, build: Any = openai, **more: Any) -> int:
        tokens: int = build(small, request([UserMessage(text, 1)], tools=[], max_tokens=32_000, **more))[
            "max_tokens"
        ]
        return tokens

    assert allowed("hi") == 32_000
    assert allowed("words " * 10_000) == 40_000 - (60_000 + len("Be brief.")) // 3
    assert allowed("字" * 20_000) == allowed("words " * 10_000)
    assert allowed("words " * 100_000) == 4096
    assert allowed("words " * 10_000, anthropic) == allowed("words " * 10_000)
    assert allowed("words " * 18_000, anthropic, thinking="xhigh") == 4096
    images: list[Message] = [UserMessage([ImageContent("a" * 900_000, "image/png")] * 10, 1)]
    body = openai(small, request(images, tools=[], max_tokens=32_000))
    assert body["max_tokens"] == 40_000 - 16_000 - len("Be brief.") // 3


def with_compat(**flags: Any) -> Model:
    return msgspec.structs.replace(GPT, compat=Compat(**flags))


def test_dialect_deviations_are_data() -> None:
    body = openai(
        with_compat(
            supports_developer_role=True,
            supports_store=True,
            supports_prompt_cache_key=True,
            supports_usage_in_streaming=False,
            supports_reasoning_effort=False,
            supports_parallel_tool_calls=False,
            max_tokens_field="max_completion_tokens",
        ),
        request([UserMessage("hi", 1)], thinking="high", cache_key="s" * 100),
    )
    del body["tools"]
    assert body == {
        "model": "gpt-x",
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "max_completion_tokens": 8000,
        "parallel_tool_calls": False,
        "prompt_cache_key": "s" * 64,
        "store": False,
    }
    one = msgspec.structs.replace(CLAUDE, compat=Compat(supports_parallel_tool_calls=False))
    assert anthropic(one, request([]))["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def sent(model: Model) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = openai(model, request(conversation(model)))["messages"]
    return messages


def test_thinking_returns_in_the_field_the_server_reads() -> None:
    assert "reasoning_content" not in sent(GPT)[2]
    assert sent(with_compat(thinking_field="reasoning_content"))[2]["reasoning_content"] == "I should read."
    assert sent(with_compat(thinking_as_text=True))[2]["content"] == "I should read.\n\nReading."
    silent = openai(
        with_compat(thinking_field="reasoning_content"),
        request([answer(GPT, TextContent("x")), UserMessage("y", 1)]),
    )
    assert silent["messages"][1] == {"role": "assistant", "content": "x", "reasoning_content": ""}


def test_results_carry_a_name_if_required() -> None:
    assert sent(with_compat(requires_tool_result_name=True))[3] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "a.png:",
        "name": "read",
    }


def test_answer_is_inserted_between_results_and_user_if_required() -> None:
    roles = [message["role"] for message in sent(with_compat(requires_assistant_after_tool_result=True))]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user", "user"]
    model = with_compat(requires_assistant_after_tool_result=True)
    ending = openai(model, request(conversation(model)[:4]))["messages"]
    assert [message["role"] for message in ending][-3:] == ["tool", "assistant", "user"]
    plain: list[Message] = [
        answer(model, ToolCall("c", "read", {})),
        ToolResultMessage("c", "read", [TextContent("x")], False, 3),
        UserMessage("go", 4),
    ]
    bodies = openai(model, request(plain))["messages"]
    assert [message["role"] for message in bodies] == ["system", "assistant", "tool", "assistant", "user"]
    assert bodies[1]["content"] == ""


def test_image_only_result_points_to_its_images() -> None:
    messages: list[Message] = [
        answer(GPT, ToolCall("c", "read", {})),
        ToolResultMessage("c", "read", [ImageContent("aGk=", "image/png")], False, 3),
    ]
    body = openai(GPT, request(messages))["messages"]
    assert body[1]["content"] is None
    assert body[2]["content"] == "(the images follow)"
    assert body[3]["content"][1]["type"] == "image_url"


def growing(model: Model) -> list[AppMessage]:
    """A conversation of many turns with everything that can occur."""
    history: list[AppMessage] = []
    for turn in range(6):
        history.append(UserMessage(f"question {turn}", turn))
        for step in range(3):
            id = f"c{turn}{step}"
            history.append(
                answer(model, ThinkingContent("hm", "sig"), ToolCall(id, "read", {"path": f"{turn}/{step}"}))
            )
            history.append(
                ToolResultMessage(id, "read", [TextContent(f"text {turn} {step}")], step == 2, turn)
            )
        history.append(answer(model, TextContent(f"answer {turn}")))
    return history


def bodies(model: Model, build: Any) -> list[bytes]:
    """The requests of the whole conversation: one after each user message and each result."""
    history = growing(model)
    return [
        encode(build(model, request(normalize_history(history[: end + 1], model))))
        for end, message in enumerate(history)
        if not isinstance(message, AssistantMessage)
    ]


@pytest.mark.parametrize(
    "compat",
    [
        Compat(),
        Compat(thinking_field="reasoning_content", requires_tool_result_name=True),
        Compat(requires_assistant_after_tool_result=True),
    ],
)
def test_successive_openai_requests_share_a_prefix(compat: Compat) -> None:
    for before, after in pairwise(bodies(msgspec.structs.replace(GPT, compat=compat), openai)):
        assert after.startswith(before[: before.index(b'],"stream":true')])


def test_successive_anthropic_requests_share_a_prefix() -> None:
    """Except for the cache marks, which move: they are not part of what is cached."""
    mark = b',"cache_control":{"type":"ephemeral"}'
    for before, after in pairwise(bodies(CLAUDE, anthropic)):
        plain = before.replace(mark, b"")
        assert after.replace(mark, b"").startswith(plain[: plain.index(b'],"max_tokens":')])


def test_cache_marks_change_only_the_last_exchanges() -> None:
    mark = b',"cache_control"'
    for before, after in pairwise(bodies(CLAUDE, anthropic)[3:]):
        unmarked = before.index(mark, before.index(b'"messages"'))
        assert after.startswith(before[:unmarked])


def test_variable_fields_come_after_the_messages() -> None:
    messages = normalize_history(growing(GPT), GPT)
    for model, build, end in ((GPT, openai, b'],"stream":true'), (CLAUDE, anthropic, b'],"max_tokens":')):
        quiet = encode(build(model, request(messages)))
        loud = encode(build(model, request(messages, thinking="high", max_tokens=77, temperature=1.0)))
        assert loud.startswith(quiet[: quiet.index(end)])
