"""The dialect `anthropic-messages`, over a real socket."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.apis.anthropic_messages import build_body, url
from tau.ai.model import FAST_TIER, Compat, Price, SteppedRates
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AssistantContent,
    AssistantMessage,
    CacheLifetimes,
    CacheMiss,
    TextContent,
    ThinkingContent,
    ToolCall,
    UserMessage,
)
from tau.ai.wire import Usage as Counted
from tau.base.errors import ProviderError
from tests.ai.dialect_client import (
    HELLO,
    answer,
    conversation,
    failed,
    leave_in_the_middle,
    message,
    model,
    stream_of,
    talk,
)
from tests.support.fake_answers import (
    Answer,
    Call,
    CutConnection,
    ErrorEvent,
    InvalidUtf8,
    NotJson,
    Overflow,
    Raw,
    Status,
    Text,
    Thinking,
    TruncatedEvent,
    Usage,
)
from tests.support.fake_server import FakeServer

CLAUDE = model("anthropic-messages", input=("text", "image"))
TWICE = {"fast": SteppedRates(10)}


def test_text_streams_in_deltas_and_ends_once() -> None:
    deltas = answer(CLAUDE, Text("Hello, dear world.", deltas=3))
    pieces = [delta.text for delta in deltas if isinstance(delta, d.TextPiece)]
    assert len(pieces) == 3
    assert "".join(pieces) == "Hello, dear world."
    assert deltas[-1] == d.Done("stop")
    assert deltas.count(d.Done("stop")) == 1


def test_thinking_has_its_signature() -> None:
    deltas = answer(CLAUDE, [Thinking("Hm, let me see.", "sig-9", deltas=2), Text("Yes.")])
    assert message(CLAUDE, deltas).content == [
        ThinkingContent("Hm, let me see.", "sig-9"),
        TextContent("Yes."),
    ]


def test_hidden_thinking_keeps_its_signature() -> None:
    assert message(CLAUDE, answer(CLAUDE, [Thinking("", "sig-9"), Text("Yes.")])).content == [
        ThinkingContent("", "sig-9"),
        TextContent("Yes."),
    ]


def test_redacted_thinking_is_kept_as_data() -> None:
    deltas = answer(CLAUDE, [Thinking("b64data", redacted=True), Text("Yes.")])
    assert message(CLAUDE, deltas).content[0] == ThinkingContent("", "b64data", True)


def test_call_streams_in_deltas() -> None:
    deltas = answer(CLAUDE, [Text("Reading."), Call("read", {"path": "a/b.py"}, id="toolu_7", deltas=4)])
    assert len([delta for delta in deltas if isinstance(delta, d.CallPiece)]) == 4
    assert message(CLAUDE, deltas).content == [
        TextContent("Reading."),
        ToolCall("toolu_7", "read", {"path": "a/b.py"}),
    ]
    assert deltas[-1] == d.Done("toolUse")


def test_several_calls_in_one_answer_stay_separate() -> None:
    calls = [Call("read", {"path": name}, id=f"t{name}") for name in "abc"]
    assert message(CLAUDE, answer(CLAUDE, calls)).content == [
        ToolCall(f"t{name}", "read", {"path": name}) for name in "abc"
    ]


def test_call_without_arguments() -> None:
    assert message(CLAUDE, answer(CLAUDE, Call("ls", {}, id="t"))).tool_calls == [ToolCall("t", "ls", {})]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("a_new_word", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "toolUse"),
    ],
)
def test_stop_reasons(stop: str, reason: Any) -> None:
    assert answer(CLAUDE, Answer((Text("x"),), stop=stop))[-1] == d.Done(reason)


def test_calls_are_run_whatever_the_stop_reason_says() -> None:
    assert answer(CLAUDE, Answer((Call("ls"),), stop="end_turn"))[-1] == d.Done("toolUse")
    assert answer(CLAUDE, Answer((Call("ls"),), stop="max_tokens"))[-1] == d.Done("length")


def test_refusal_is_a_fatal_error() -> None:
    error = failed(CLAUDE, Answer((Text("I"),), stop="refusal"))
    assert not error.retryable
    assert str(error) == "acme declined to answer: the model refuses this. Rephrase the request."


def test_tokens_are_counted() -> None:
    deltas = answer(CLAUDE, Answer((Text("x"),), Usage(input=7, output=9, cache_read=1000, cache_write=50)))
    usage = message(CLAUDE, deltas).usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (7, 9, 1000, 50)


def test_request_has_the_right_url_and_headers() -> None:
    with FakeServer() as server:
        server.script("a", "b", "c", "d", "e")

        async def main() -> None:
            await talk(server.url, CLAUDE)
            gateway = replace(CLAUDE, compat=replace(CLAUDE.compat, key_header="Authorization"))
            await talk(server.url + "/v1/", gateway, key="login-1", **{"Anthropic-Beta": "x-1,y-2"})
            await talk(server.url, CLAUDE, key=None)
            await talk(server.url, CLAUDE, key="k", **{"X-Api-Key": "mine"})
            await talk(server.url, CLAUDE, key="sk-or-v1-1")

        asyncio.run(main())
        first, login, bare, own, router = (request.headers for request in server.requests)
        assert {request.path for request in server.requests} == {"/v1/messages"}
    assert first["x-api-key"] == "key-1"
    assert first["anthropic-version"] == "2023-06-01"
    assert first["content-type"] == "application/json"
    assert "authorization" not in first
    assert login["authorization"] == "Bearer login-1"
    assert login["anthropic-beta"] == "x-1,y-2"
    assert "x-api-key" not in login
    assert "x-api-key" not in bare
    assert "authorization" not in bare
    assert own["x-api-key"] == "mine"
    assert router["authorization"] == "Bearer sk-or-v1-1"
    assert "anthropic-beta" not in router


@pytest.mark.parametrize("key_header", ["", "authorization"])
def test_token_of_a_claude_plan_is_refused_and_never_sent(key_header: str) -> None:
    """Anthropic's terms keep it to its own products."""
    model = replace(CLAUDE, compat=replace(CLAUDE.compat, key_header=key_header))
    with FakeServer() as server:
        server.script("a")
        with pytest.raises(
            ProviderError, match=r"create an API key at https://console\.anthropic\.com"
        ) as refused:
            asyncio.run(talk(server.url, model, key="sk-ant-oat01-secret"))
        assert server.requests == []
    assert refused.value.kind == "auth"
    assert not refused.value.retryable
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("base", ["https://a.example", "https://a.example/", "https://a.example/v1"])
def test_base_url_may_include_the_version(base: str) -> None:
    assert url(base) == "https://a.example/v1/messages"


def test_request_body_is_sent() -> None:
    with FakeServer() as server:
        server.script("ok")
        asyncio.run(talk(server.url, CLAUDE))
        assert server.requests[0].body["messages"][0]["content"][0]["text"] == "hi"
        assert server.requests[0].body["stream"] is True


def test_rate_limit_says_how_long_to_wait() -> None:
    error = failed(CLAUDE, Status(429, "Slow down.", retry_after="17"))
    assert (error.status, error.retryable, error.retry_after) == (429, True, 17)
    assert str(error) == "acme answered 429: Slow down (request req_fake)."


@pytest.mark.parametrize("status", [500, 503, 529])
def test_server_error_is_retryable(status: int) -> None:
    error = failed(CLAUDE, Status(status))
    assert (error.status, error.retryable, error.overflow) == (status, True, False)


def test_rejected_key_is_never_shown() -> None:
    error = failed(CLAUDE, Status(401, "invalid key secret-key-77"), key="secret-key-77")
    assert error.status == 401
    assert not error.retryable
    assert "secret-key-77" not in str(error)
    assert "acme rejected the API key" in str(error)


def test_context_overflow_is_recognized() -> None:
    error = failed(CLAUDE, Overflow())
    assert (error.overflow, error.retryable) == (True, False)


@pytest.mark.parametrize("after", [0, 1, 3, 6])
def test_cut_connection_is_retryable(after: int) -> None:
    assert failed(CLAUDE, CutConnection(after_events=after)).retryable


@pytest.mark.parametrize("after", [0, 2, 6])
def test_truncated_event_is_a_truncated_answer(after: int) -> None:
    error = failed(CLAUDE, TruncatedEvent(after_events=after))
    assert error.retryable
    assert str(error) == "The answer from acme was cut off."


def test_non_json_event_is_retryable() -> None:
    assert failed(CLAUDE, NotJson()).retryable


def test_invalid_byte_costs_one_character() -> None:
    text = message(CLAUDE, answer(CLAUDE, InvalidUtf8("cafe noir"))).text
    assert text.startswith("ca\ufffd")
    assert text.endswith("noir")


@pytest.mark.parametrize(
    ("kind", "retryable"), [("overloaded_error", True), ("api_error", True), ("invalid_request_error", False)]
)
def test_error_in_mid_stream_keeps_the_vendors_message(kind: str, retryable: bool) -> None:
    error = failed(CLAUDE, ErrorEvent(kind=kind, message="It broke."))
    assert error.retryable is retryable
    assert str(error) == "acme aborted its answer: It broke."


def test_a_web_page_is_not_an_answer() -> None:
    error = failed(CLAUDE, Raw("<html><title>Log in to the hotel</title></html>"))
    assert not error.retryable
    assert "Log in to the hotel" in str(error)
    assert "base URL" in str(error)


def test_redirect_is_reported_not_followed() -> None:
    error = failed(CLAUDE, Status(301, headers={"location": "https://new.example/v1"}))
    assert "https://new.example/v1" in str(error)


def test_redirect_does_not_show_the_secrets_in_its_query() -> None:
    login = "https://login.example/sso?token=geheim#geheim"
    error = failed(CLAUDE, Status(302, headers={"location": login}))
    assert "redirects to https://login.example/sso; is the base URL right?" in str(error)
    assert "geheim" not in str(error)


def test_error_with_status_200_is_still_an_error() -> None:
    body = json.dumps({"error": {"message": "Insufficient balance", "code": 402}})
    error = failed(CLAUDE, Raw(body, 200, "application/json"))
    assert not error.retryable
    assert "Insufficient balance" in str(error)


START = '{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":null}}}'
END = ('{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":null}', '{"type":"message_stop"}')


def test_unknown_events_and_blocks_are_ignored() -> None:
    deltas = answer(
        CLAUDE,
        stream_of(
            START,
            '{"type":"ping"}',
            '{"type":"from_the_future","index":"not a number","delta":7}',
            "",
            '{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s"}}',
            '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
            '{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}',
            '{"type":"content_block_stop","index":0}',
            '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hel"}}',
            '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}',
            '{"type":"content_block_stop","index":1}',
            *END,
        ),
    )
    assert message(CLAUDE, deltas).content == [TextContent("Hello")]
    assert message(CLAUDE, deltas).usage.input == 3


def test_known_event_with_an_unknown_shape_is_an_error() -> None:
    broken = '{"type":"content_block_delta","index":0,"delta":"text"}'
    assert failed(CLAUDE, stream_of(START, broken, *END)).retryable


def test_call_with_arguments_in_its_start_event() -> None:
    """Imitations of the dialect put the arguments into the start of the block."""
    block = '{"type":"tool_use","id":null,"name":"read","input":{"path":"a"}}'
    deltas = answer(
        CLAUDE,
        stream_of(
            START,
            '{"type":"content_block_start","index":0,"content_block":' + block + "}",
            '{"type":"content_block_stop","index":0}',
            *END,
        ),
    )
    (call,) = message(CLAUDE, deltas).tool_calls
    assert (call.name, call.arguments) == ("read", {"path": "a"})
    assert call.id.startswith("call_")


def test_argument_deltas_replace_those_of_the_start_event() -> None:
    block = '{"type":"tool_use","id":"t","name":"read","input":{"path":"old"}}'
    piece = '{"type":"input_json_delta","partial_json":"{\\"path\\":\\"new\\"}"}'
    deltas = answer(
        CLAUDE,
        stream_of(
            START,
            '{"type":"content_block_start","index":0,"content_block":' + block + "}",
            '{"type":"content_block_delta","index":0,"delta":' + piece + "}",
            '{"type":"content_block_stop","index":0}',
            *END,
        ),
    )
    assert message(CLAUDE, deltas).tool_calls == [ToolCall("t", "read", {"path": "new"})]
    assert [one for one in deltas if isinstance(one, d.CallPiece)] == [d.CallPiece(0, '{"path":"new"}')]


def test_leaving_mid_stream_closes_the_connection() -> None:
    leave_in_the_middle(CLAUDE)


def test_conversation_with_images_and_calls_is_accepted() -> None:
    with FakeServer() as server:
        server.script("ok")
        asyncio.run(talk(server.url, CLAUDE, conversation(CLAUDE)))
        assert server.problems == []
        assert server.requests[0].raw.count(b"iVBORw0KGgo=") == 2


SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
SEARCHED = (
    START,
    '{"type":"content_block_start","index":0,"content_block":' + json.dumps(SEARCH) + "}",
    '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"q\\":1}"}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Found."}}',
    '{"type":"content_block_stop","index":1}',
)


def stopped(reason: str) -> tuple[str, ...]:
    return (
        json.dumps({"type": "message_delta", "delta": {"stop_reason": reason}}),
        '{"type":"message_stop"}',
    )


def test_unknown_block_is_kept_with_its_input() -> None:
    read = message(CLAUDE, answer(CLAUDE, stream_of(*SEARCHED, *stopped("end_turn"))))
    assert read.content == [TextContent("Found.")]
    assert read.provider_payload == [{"index": 0, "block": {**SEARCH, "input": {"q": 1}}}]


def test_paused_answer_continues_with_all_of_its_blocks() -> None:
    deltas = answer(CLAUDE, stream_of(*SEARCHED, *stopped("pause_turn")))
    assert deltas[-1] == d.Done("pause")
    history = normalize_history([UserMessage("hi", 1), message(CLAUDE, deltas)], CLAUDE)
    request = msgspec.structs.replace(HELLO, messages=history)
    assert build_body(CLAUDE, request)["messages"][-1] == {
        "role": "assistant",
        "content": [{**SEARCH, "input": {"q": 1}}, {"type": "text", "text": "Found."}],
    }
    later = msgspec.structs.replace(HELLO, messages=[*history, UserMessage("more", 3)])
    assert build_body(CLAUDE, later)["messages"][1]["content"] == [{"type": "text", "text": "Found."}]


def test_one_hour_cache_writes_are_counted() -> None:
    start = {
        "type": "message_start",
        "message": {
            "id": "msg_7",
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 50,
                "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
                "service_tier": "priority",
            },
        },
    }
    deltas = answer(CLAUDE, stream_of(json.dumps(start), *SEARCHED[4:], *END))
    assert deltas[:2] == [d.Answered("msg_7"), d.Tokens(3, None, None, 50, None, 30, tier="priority")]
    read = message(CLAUDE, deltas)
    assert read.usage.cttl == CacheLifetimes(20, 30)
    assert read.response_id == "msg_7"


def test_server_is_asked_why_its_cache_missed_and_its_word_is_kept() -> None:
    speaker = model("anthropic-messages", compat=Compat(cache_diagnostics=True))
    assert build_body(speaker, HELLO)["diagnostics"] == {"previous_message_id": None}
    asked = {"api": "anthropic-messages", "model": "m", "usage": Counted(), "stop_reason": "stop"}
    own = AssistantMessage([TextContent("a")], provider="acme", timestamp=2, response_id="msg_1", **asked)
    foreign = replace(own, provider="other", response_id="msg_2")
    later = replace(HELLO, messages=[*HELLO.messages, own, foreign, *HELLO.messages])
    assert build_body(speaker, later)["diagnostics"] == {"previous_message_id": "msg_1"}
    assert "diagnostics" not in build_body(CLAUDE, later)
    assert "diagnostics" not in build_body(replace(speaker, custom_address=True), later)

    def told(reason: Any) -> Any:
        start = {"id": "msg_3", "usage": {"input_tokens": 3}, "diagnostics": {"cache_miss_reason": reason}}
        begin = json.dumps({"type": "message_start", "message": start})
        return message(CLAUDE, answer(CLAUDE, stream_of(begin, *END))).usage.cache_miss

    changed = told({"type": "tools_changed", "cache_missed_input_tokens": 4_000})
    assert changed == CacheMiss("tools_changed", 4_000)
    assert told({"type": "previous_message_not_found"}) is told(None) is UNSET


def test_fast_mode_is_a_speed_with_its_beta_and_its_price() -> None:
    beta = {"anthropic-beta": "x-1"}
    fast = replace(CLAUDE, headers=beta, compat=Compat(fast_mode="fast-2"), cost=Price(5, tiers=TWICE))
    request = replace(HELLO, service_tier=FAST_TIER)
    with FakeServer() as server:
        server.script("a", "b", "c")
        asyncio.run(talk(server.url, fast, request=request, **beta))
        asyncio.run(talk(server.url, fast, **beta))
        asyncio.run(talk(server.url, CLAUDE, request=request, **beta))
        quick, usual, slow = server.requests
    assert (quick.body["speed"], quick.headers["anthropic-beta"]) == ("fast", "x-1,fast-2")
    assert all("speed" not in one.body and one.headers["anthropic-beta"] == "x-1" for one in (usual, slow))
    assert all("service_tier" not in one.body for one in (quick, usual, slow))
    assert fast.takes_tier(FAST_TIER) and not CLAUDE.takes_tier(FAST_TIER)
    served = {"input_tokens": 1_000_000, "speed": "fast", "service_tier": "standard"}
    start = json.dumps({"type": "message_start", "message": {"id": "m", "usage": served}})
    assert message(fast, answer(fast, stream_of(start, *END))).usage.cost.total == 10


@pytest.mark.parametrize(
    ("retention", "supported", "mark"),
    [
        ("none", True, None),
        ("short", True, {"type": "ephemeral"}),
        ("long", True, {"type": "ephemeral", "ttl": "1h"}),
        ("long", False, {"type": "ephemeral"}),
    ],
)
def test_cache_retention(retention: Any, supported: bool, mark: Any) -> None:
    speaker = model("anthropic-messages", compat=Compat(supports_long_cache_retention=supported))
    body = build_body(speaker, msgspec.structs.replace(conversation(speaker), cache_retention=retention))
    marks = [part.get("cache_control") for part in (body["tools"][-1], body["system"][0])]
    assert marks == [mark, mark]
    assert body["messages"][-1]["content"][-1].get("cache_control") == mark


def test_tools_stream_their_input_eagerly_by_flag() -> None:
    eager = model("anthropic-messages", compat=Compat(eager_input_streaming=True))
    assert all(tool["eager_input_streaming"] for tool in build_body(eager, conversation(eager))["tools"])
    assert "eager_input_streaming" not in build_body(CLAUDE, conversation(CLAUDE))["tools"][0]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("read", {"type": "tool", "name": "read"}),
    ],
)
def test_tool_choice(choice: str, sent: Any) -> None:
    body = build_body(CLAUDE, msgspec.structs.replace(conversation(CLAUDE), tool_choice=choice))
    assert body.get("tool_choice") == sent


def test_forced_call_turns_thinking_off() -> None:
    plain = model("anthropic-messages", compat=Compat(adaptive_thinking=True))
    request = msgspec.structs.replace(HELLO, thinking="high", tools=conversation(plain).tools)
    assert "thinking" in build_body(plain, request)
    assert "thinking" not in build_body(plain, msgspec.structs.replace(request, tool_choice="required"))


def test_unsigned_thinking_goes_back_where_it_is_accepted() -> None:
    lenient = model("anthropic-messages", compat=Compat(allow_empty_signature=True))
    content: list[AssistantContent] = [ThinkingContent("Hm."), TextContent("Yes.")]
    said = AssistantMessage(content, lenient.api, lenient.provider, lenient.id, Counted(), "stop", 2)
    request = msgspec.structs.replace(HELLO, messages=[*HELLO.messages, said, UserMessage("more", 3)])
    assert build_body(lenient, request)["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "Hm.",
        "signature": "",
    }
    assert build_body(CLAUDE, request)["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
