"""Answers in the dialect `ollama-chat`, over a real socket."""

import asyncio
import json
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.apis.ollama_chat import url
from tau.ai.model import Compat
from tau.ai.wire import AssistantMessage, TextContent, ThinkingContent
from tests.ai.dialect_client import answer, failed, leave_in_the_middle, message, model, talk
from tests.support.fake_answers import Answer, Call, Overflow, Raw, Status, Text, Usage
from tests.support.fake_server import FakeServer

LLAMA = model("ollama-chat", input=("text", "image"))


def line(done: str | None = None, counts: tuple[int, int] | None = None, **said: Any) -> dict[str, Any]:
    sent: dict[str, Any] = {"model": "m", "message": {"role": "assistant", "content": "", **said}}
    sent["done"] = done is not None
    if done:
        sent["done_reason"] = done
    return sent | (dict(zip(("prompt_eval_count", "eval_count"), counts, strict=True)) if counts else {})


def lines(*sent: dict[str, Any] | str, content_type: str = "application/x-ndjson", end: str = "\n") -> Raw:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in sent]
    return Raw("\n".join(texts) + end, 200, content_type)


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def read(*sent: dict[str, Any] | str, **more: Any) -> AssistantMessage:
    return message(LLAMA, answer(LLAMA, lines(*sent, **more)))


def test_text_and_thinking_stream_in_deltas() -> None:
    deltas = answer(
        LLAMA,
        lines(
            line(thinking="Hm, "),
            line(thinking="yes."),
            line(content="Hel"),
            line(content="lo."),
            line("stop", (7, 5)),
        ),
    )
    assert deltas == [
        d.ThinkingPiece("Hm, "),
        d.ThinkingPiece("yes."),
        d.TextPiece("Hel"),
        d.TextPiece("lo."),
        d.Tokens(7, 5),
        d.Done("stop"),
    ]


def test_parallel_calls_with_and_without_ids() -> None:
    found = read(
        line(tool_calls=[call("read", {"path": "a"}, id="c1"), call("job", {})]),
        line(tool_calls=[call("read", {"path": "ä", "n": [1, None]})]),
        line("stop"),
    )
    assert [(one.name, one.arguments) for one in found.tool_calls] == [
        ("read", {"path": "a"}),
        ("job", {}),
        ("read", {"path": "ä", "n": [1, None]}),
    ]
    assert found.tool_calls[0].id == "c1" and len({one.id for one in found.tool_calls}) == 3
    assert found.stop_reason == "toolUse"


def test_only_the_first_call_is_read_where_only_one_is_wanted() -> None:
    one = model("ollama-chat", compat=Compat(first_tool_call_only=True))
    found = message(one, answer(one, lines(line(tool_calls=[call("a", {}), call("b", {})]), line("stop"))))
    assert [it.name for it in found.tool_calls] == ["a"]


@pytest.mark.parametrize(
    ("reason", "means"), [("stop", "stop"), ("length", "length"), ("load", "stop"), ("new", "stop")]
)
def test_reasons_to_end(reason: str, means: str) -> None:
    assert answer(LLAMA, lines(line(content="x"), line(reason)))[-1] == d.Done(means)  # type: ignore[arg-type]


def test_last_line_may_have_content_and_no_end() -> None:
    assert read(line("stop", (7, 5), content="Hello."), end="").text == "Hello."


def test_answer_that_did_not_stream_is_read() -> None:
    whole = line("stop", (7, 5), content="Hello.", thinking="Hm.", tool_calls=[call("read", {})])
    found = read(whole, content_type="application/json; charset=utf-8", end="")
    assert found.content[:2] == [ThinkingContent("Hm."), TextContent("Hello.")]
    assert (found.tool_calls[0].name, found.usage.input) == ("read", 7)


def test_error_in_the_stream_is_an_error_and_runs_nothing() -> None:
    error = failed(
        LLAMA, lines(line(tool_calls=[call("write", {})]), {"error": "llama runner process has terminated"})
    )
    assert error.retryable and "llama runner process has terminated" in str(error)


def test_call_that_the_server_cannot_parse_is_corrected_by_the_model() -> None:
    said = "error parsing tool call: raw='{\"path\": ', err=unexpected end of JSON input"
    assert "error parsing tool call" in failed(LLAMA, lines({"error": said})).bad_call


def test_prompt_longer_than_the_context_is_an_overflow() -> None:
    assert failed(LLAMA, Overflow()).overflow
    assert failed(LLAMA, lines({"error": "the input length exceeds the context length"})).overflow


def test_missing_model_is_not_retried() -> None:
    error = failed(LLAMA, Status(404, 'model "m" not found, try pulling it first'))
    assert not error.retryable and "try pulling it first" in str(error)


def test_unknown_fields_and_lines_are_skipped() -> None:
    found = read({"status": "loading"}, line(content="x", new=[1]) | {"logprobs": None}, "", line("stop"))
    assert found.content == [TextContent("x")]


def test_web_page_is_not_an_answer() -> None:
    page = Raw("<html><title>Login</title></html>", 200, "text/html")
    assert "web page" in str(failed(LLAMA, page))


def test_leaving_closes_the_connection() -> None:
    leave_in_the_middle(LLAMA)


@pytest.mark.parametrize(
    "base", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1/api"]
)
def test_address_may_end_as_users_write_it(base: str) -> None:
    assert url(base) == "http://h:1/api/chat"


def test_key_is_sent_as_a_bearer() -> None:
    with FakeServer() as server:
        asyncio.run(talk(server.url, LLAMA, key="k"))
        asyncio.run(talk(server.url, LLAMA, key=None))
    assert [request.headers.get("authorization") for request in server.requests] == ["Bearer k", None]
    assert server.requests[0].headers["accept"] == "application/x-ndjson"


def test_usage_and_calls_of_a_scripted_answer() -> None:
    scripted = Answer((Text("a"), Call("read", {"x": 1}), Call("job")), Usage(input=7, output=5))
    found = message(LLAMA, answer(LLAMA, scripted))
    assert (found.usage.input, found.usage.output) == (7, 5)
    assert [one.name for one in found.tool_calls] == ["read", "job"]
