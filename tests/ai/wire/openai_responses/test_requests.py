"""The dialect `openai-responses`: request bodies, URLs and headers."""

import asyncio
from base64 import urlsafe_b64encode
from itertools import pairwise
from typing import Any

import lark
import msgspec
import pytest
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.apis.openai_responses import build_body, url
from tau.ai.apis.request import encode
from tau.ai.catalog import load_catalog
from tau.ai.model import Compat, Model
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
from tau.coding.tools.edit_patch import PatchEdit
from tests.ai.dialect_client import HELLO, conversation, model, talk
from tests.support.fake_server import FakeServer
from tests.support.responses_validator import validate_responses

GPT = model("openai-responses", input=("text", "image"), compat=Compat(grammar_tools=True))
PATCH = PatchEdit("apply_patch")
IMAGE = ImageContent("aGk=", "image/png")
SEALED = '{"type":"reasoning","id":"rs_1","status":"completed","summary":[],"encrypted_content":"x","mood":1}'


def answer(*content: Any, speaker: Model = GPT) -> AssistantMessage:
    return AssistantMessage(
        list(content), speaker.api, speaker.provider, speaker.id, Usage(), "toolUse", 2, address="://"
    )


def result(id: str, *content: Any) -> ToolResultMessage:
    return ToolResultMessage(id, "read", list(content) or [TextContent("ok")], False, 3)


def built(*messages: AppMessage, speaker: Model = GPT, **fields: Any) -> dict[str, Any]:
    """The body as the server sees it; it must have nothing to complain about."""
    history = normalize_history([UserMessage("hi", 1), *messages], speaker)
    request = replace(HELLO, messages=history, **fields)
    body: dict[str, Any] = msgspec.json.decode(encode(build_body(speaker, request)))
    assert validate_responses(body) == []
    return body


def said(text: str, id: str) -> dict[str, Any]:
    """A message as it is sent."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}


def items(*messages: AppMessage, **more: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = built(*messages, **more)["input"][1:]
    return sent


def test_whole_request() -> None:
    body = msgspec.json.decode(encode(build_body(GPT, conversation(GPT))))
    assert validate_responses(body) == []
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    data = "data:image/png;base64,iVBORw0KGgo="
    picture = {"type": "input_image", "image_url": data, "detail": "auto"}
    assert body == {
        "model": "m",
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": schema,
                "strict": False,
            },
            {
                "type": "function",
                "name": "bash",
                "description": "Runs.",
                "parameters": schema,
                "strict": False,
            },
        ],
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, picture]},
            said("Reading.", "msg_1_1"),
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path":"a.png"}'},
            {
                "type": "function_call",
                "call_id": "call_2",
                "name": "bash",
                "arguments": '{"command":"false"}',
            },
            {"type": "function_call_output", "call_id": "call_1", "output": [picture]},
            {"type": "function_call_output", "call_id": "call_2", "output": "exit code 1"},
            {"role": "user", "content": "Go on."},
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 1000,
        "reasoning": {"effort": "medium", "summary": "auto"},
    }


def test_reasoning_goes_back_without_what_only_answers_have() -> None:
    sent = items(
        answer(
            ThinkingContent("Hm.", SEALED),
            TextContent("Reading.", '{"v":1,"id":"msg_1","phase":"commentary"}'),
            ToolCall("c1", "read", {}, '{"id":"fc_1"}'),
        ),
        result("c1"),
    )
    assert sent == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {**said("Reading.", "msg_1"), "phase": "commentary"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]


def test_reasoning_without_an_item_of_its_answer_is_left_out() -> None:
    assert items(answer(TextContent("Yes."), ThinkingContent("Hm.", SEALED))) == [said("Yes.", "msg_1_0")]
    assert items(answer(ThinkingContent("Hm.", "not json"), TextContent("Yes."))) == [said("Yes.", "msg_1_1")]
    assert items(answer(ThinkingContent("Hm.", SEALED), TextContent("Ye"))) == [said("Ye", "msg_1_1")]


def test_nothing_comes_between_a_call_and_its_output() -> None:
    sent = items(
        answer(
            ToolCall("c1", "read", {}),
            ToolCall("c2", "read", {}),
            TextContent("And now this."),
            ToolCall("c3", "read", {}),
        ),
        *(result("c3"), UserMessage("Stop.", 4), result("c1"), result("c2")),
    )
    assert [item.get("call_id") or item["role"] for item in sent] == [
        *("c1", "c2", "c1", "c2", "assistant", "c3", "c3", "user"),
    ]


def test_text_and_functions_of_the_same_tool_share_a_history() -> None:
    patch = "*** Begin Patch\n*** End Patch"
    text = ToolCall("c1", "edit", {"input": patch}, custom_wire_name="apply_patch")
    function = ToolCall("c2", "edit", {"input": patch})
    history = (answer(text), result("c1"), answer(function), result("c2"))
    arguments = {"name": "edit", "arguments": msgspec.json.encode({"input": patch}).decode()}
    as_text, output, as_function, _ = items(*history, tools=[PATCH.spec])
    assert as_text == {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch}
    assert output["type"] == "custom_tool_call_output"
    assert as_function == {"type": "function_call", "call_id": "c2", **arguments}
    plain = replace(GPT, compat=Compat())
    first, output, *_ = items(*history, tools=[PATCH.spec], speaker=plain)
    assert first == {"type": "function_call", "call_id": "c1", **arguments}
    assert output["type"] == "function_call_output"


def test_patch_tool_has_a_grammar_where_the_model_takes_one() -> None:
    (tool,) = built(tools=[PATCH.spec])["tools"]
    assert (tool["type"], tool["name"], tool["format"]["syntax"]) == ("custom", "apply_patch", "lark")
    (tool,) = built(tools=[PATCH.spec], speaker=replace(GPT, compat=Compat()))["tools"]
    assert (tool["type"], tool["name"]) == ("function", "edit")
    (tool,) = built(tools=[PatchEdit("patch").spec])["tools"]
    assert tool["type"] == "function"


@pytest.mark.parametrize("parser", ["earley", "lalr"])
@pytest.mark.parametrize(
    ("patch", "valid"),
    [
        ("*** Update File: a b.txt\n@@ def f\n-x\n+y\n \n+\n*** End of File\n", True),
        ("*** Update File: a\n*** Move to: b\n", True),
        ("*** Update File: a\n-x\n+y\n*** Delete File: c\n*** Add File: d\n+\n+x\n", True),
        ("", False),
        ("*** Update File: a\n@@\nno mark\n", False),
        ("*** Add File: a\n", False),
        ("*** Rename File: a\n", False),
    ],
)
def test_grammar_describes_patches(parser: Any, patch: str, valid: bool) -> None:
    assert PATCH.spec.custom is not None
    grammar = lark.Lark(PATCH.spec.custom.grammar, parser=parser)
    whole = f"*** Begin Patch\n{patch}*** End Patch"
    if valid:
        grammar.parse(whole)
        grammar.parse(whole + "\n")
    else:
        with pytest.raises(lark.exceptions.UnexpectedInput):
            grammar.parse(whole)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("edit", {"type": "custom", "name": "apply_patch"}),
        ("read", {"type": "function", "name": "read"}),
    ],
)
def test_tool_choice(choice: str, sent: Any) -> None:
    read = d.ToolSpec("read", "Reads.", {"type": "object"})
    assert built(tools=[PATCH.spec, read], tool_choice=choice).get("tool_choice") == sent


def test_model_without_parallel_calls_is_asked_for_one_at_a_time() -> None:
    single = replace(GPT, compat=Compat(supports_parallel_tool_calls=False))
    assert built(tools=[PATCH.spec], speaker=single)["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in {**built(speaker=single), **built(tools=[PATCH.spec])}


def test_cache_tier_and_temperature() -> None:
    cached = replace(GPT, compat=Compat(supports_prompt_cache_key=True, supports_long_cache_retention=True))
    body = built(speaker=cached, cache_key="k" * 99, cache_retention="long", service_tier="flex")
    assert (body["prompt_cache_key"], body["prompt_cache_retention"]) == ("k" * 64, "24h")
    assert body["service_tier"] == "flex"
    assert "prompt_cache_retention" not in built(speaker=cached, cache_key="k")
    assert "prompt_cache_key" not in built(speaker=cached, cache_key="k", cache_retention="none")
    assert "temperature" not in built(temperature=0.5)
    assert built(speaker=replace(GPT, reasoning=False), temperature=0.5)["temperature"] == 0.5


def test_server_is_asked_to_compare_its_cache_with_its_last_answer() -> None:
    told = replace(GPT, compat=Compat(cache_diagnostics=True))
    last = replace(answer(TextContent("a")), response_id="resp_1")
    assert "prompt_cache_options" not in built(speaker=told)
    asked = built(last, UserMessage("b", 3), speaker=told)
    assert asked["prompt_cache_options"] == {"comparison_response_id": "resp_1"}
    assert "prompt_cache_options" not in built(last, UserMessage("b", 3))
    assert "prompt_cache_options" not in built(last, speaker=told, cache_retention="none")


def test_chatgpt_plan_gets_its_account_and_no_limit() -> None:
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}}
    token = f"e30.{urlsafe_b64encode(msgspec.json.encode(claims)).decode().rstrip('=')}.x"
    row = load_catalog().providers["openai-codex"]
    plan = replace(GPT, headers=row.headers, compat=row.compat)
    with FakeServer() as server:
        server.script("a", "b")
        asyncio.run(talk(server.url, plan, key=token, **plan.headers))
        asyncio.run(talk(server.url, plan, key="odd", **plan.headers))
        first, other = server.requests
    assert first.headers["chatgpt-account-id"] == "acc-1"
    assert "chatgpt-account-id" not in other.headers
    assert (first.headers["originator"], "max_output_tokens" in first.body) == ("tau", False)
    assert row.login is not None and row.login.client_id == "" and row.on_request


def test_tiny_answers_are_not_asked_for() -> None:
    assert built(max_tokens=1)["max_output_tokens"] == 16


def test_url_and_headers_of_azure() -> None:
    azure = model("openai-responses", compat=Compat(api_version="2026-04-01-preview", key_header="api-key"))
    assert url("https://r.openai.azure.com/openai/v1/", azure) == (
        "https://r.openai.azure.com/openai/v1/responses?api-version=2026-04-01-preview"
    )
    assert url("https://h/v1?a=b", GPT) == "https://h/v1/responses?a=b"
    with FakeServer() as server:
        server.script("a", "b", "c")
        asyncio.run(talk(server.url + "/v1", azure))
        asyncio.run(talk(server.url + "/v1", GPT))
        asyncio.run(talk(server.url + "/v1", GPT, key=None))
        first, second, third = server.requests
        assert server.problems == []
    assert first.path == "/v1/responses?api-version=2026-04-01-preview"
    assert first.headers["api-key"] == "key-1" and "authorization" not in first.headers
    assert second.headers["authorization"] == "Bearer key-1" and "api-key" not in second.headers
    assert "authorization" not in third.headers


def test_requests_of_one_conversation_share_a_growing_prefix() -> None:
    history: list[AppMessage] = [
        UserMessage("one", 1),
        answer(
            ThinkingContent("Hm.", SEALED),
            TextContent("Yes.", '{"v":1,"id":"msg_1"}'),
            ToolCall("c1", "read", {}),
        ),
        result("c1", TextContent("x"), IMAGE),
        answer(TextContent("Done.")),
        UserMessage("two", 5),
    ]
    bodies = [
        build_body(GPT, replace(HELLO, messages=normalize_history(history[:end], GPT), tools=[PATCH.spec]))
        for end in (1, 3, 4, 5)
    ]
    for shorter, longer in pairwise(bodies):
        assert longer["input"][: len(shorter["input"])] == shorter["input"]
        assert longer["tools"] == shorter["tools"]


@pytest.mark.parametrize(
    ("system", "sent"), (("Be brief.", {"instructions": "Be brief."}), (" \n", {}), ("", {}))
)
def test_blank_system_prompt_is_not_sent(system: str, sent: dict[str, str]) -> None:
    body = build_body(GPT, replace(HELLO, system=system))
    assert {name: value for name, value in body.items() if name == "instructions"} == sent
