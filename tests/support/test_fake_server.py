"""The fake server itself, tested with an independent client."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_answers import (
    Answer,
    Call,
    CutConnection,
    ErrorEvent,
    InvalidUtf8,
    NotJson,
    Overflow,
    Raw,
    Scenario,
    Status,
    Text,
    Thinking,
    TruncatedEvent,
    Usage,
)
from tests.support.fake_server import FakeServer
from tests.support.limits import HANG_S
from tests.support.validators import validate_anthropic, validate_openai

ROOT = Path(__file__).resolve().parents[2]
HI: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "hi"}],
    "stream": True,
}
BASH = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
PATHS = ["/v1/messages", "/v1/chat/completions"]


class Client:
    """One kept-alive connection."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=HANG_S)

    def ask(self, path: str, body: Any = HI) -> tuple[int, bytes]:
        self.connection.request("POST", path, json.dumps(body))
        with self.connection.getresponse() as response:
            return response.status, response.read()

    def events(self, path: str, body: Any = HI) -> list[Any]:
        status, text = self.ask(path, body)
        assert status == 200, text
        data = [line[6:] for line in text.decode().split("\n") if line.startswith("data: ")]
        return [one if one == "[DONE]" else json.loads(one) for one in data]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
def client(server: FakeServer) -> Iterator[Client]:
    client = Client(server.url)
    yield client
    client.connection.close()


def test_anthropic_answer(server: FakeServer, client: Client) -> None:
    parts = (
        Thinking("hm", signature="s"),
        Text("one two", deltas=2),
        Call("bash", {"command": "ls"}, id="c"),
    )
    server.script(Answer(parts, usage=Usage(input=5, output=7)))
    events = client.events("/v1/messages")
    assert [event["type"] for event in events][:2] == ["message_start", "ping"]
    assert events[0]["message"]["usage"]["input_tokens"] == 5
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert [delta["text"] for delta in deltas if "text" in delta] == ["one ", "two"]
    assert {"type": "signature_delta", "signature": "s"} in deltas
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"command":"ls"}'
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1] == {"type": "message_stop"}


def test_openai_answer(server: FakeServer, client: Client) -> None:
    server.script((Text("one two", deltas=2), Call("bash", {"command": "ls"}, cut_at=5)))
    events = client.events("/v1/chat/completions", {**HI, "stream_options": {"include_usage": True}})
    choices = [event["choices"][0] for event in events[:-2]]
    assert [choice["delta"].get("content") for choice in choices[:3]] == ["", "one ", "two"]
    calls = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
    assert "".join(call["function"]["arguments"] for call in calls) == '{"com'
    assert choices[-1]["finish_reason"] == "length"
    assert events[-2]["usage"]["completion_tokens"] == 10
    assert events[-1] == "[DONE]"


def test_script_advances_with_each_request_and_repeats_its_last_answer(
    server: FakeServer, client: Client
) -> None:
    server.script("first", "second")
    texts = [client.ask(PATHS[0], {**HI, "stream": False})[1] for _ in range(3)]
    assert [json.loads(text)["content"][0]["text"] for text in texts] == ["first", "second", "second"]
    assert [request.connection for request in server.requests] == [1, 1, 1]
    assert server.requests[0].body["messages"] == HI["messages"]
    assert server.requests[0].first_byte_s < server.requests[2].first_byte_s


@pytest.mark.parametrize("path", PATHS)
def test_refusals_follow_the_dialect(server: FakeServer, client: Client, path: str) -> None:
    server.script(
        Status(429, retry_after="2"), Status(529), Overflow(), Raw("<html>"), Status(500, body="oops")
    )
    answers = [client.ask(path) for _ in range(5)]
    assert [status for status, _ in answers] == [429, 529, 400, 200, 500]
    assert json.loads(answers[0][1])["error"]["type"] == "rate_limit_error"
    assert "too long" in str(answers[2][1]) or "maximum context length" in str(answers[2][1])
    assert (answers[3][1], answers[4][1]) == (b"<html>", b"oops")


@pytest.mark.parametrize("path", PATHS)
def test_faults_in_the_stream(server: FakeServer, client: Client, path: str) -> None:
    server.script(CutConnection(after_events=2), TruncatedEvent(2), InvalidUtf8(), NotJson(2), ErrorEvent(2))
    with pytest.raises(http.client.IncompleteRead) as caught:
        client.ask(path)
    assert caught.value.partial.endswith(b"\n\n")
    client.connection.close()
    assert not client.ask(path)[1].endswith(b"\n\n")
    assert b"ca\xe9e noir" in client.ask(path)[1]
    assert b"data: {not json\n\n" in client.ask(path)[1]
    assert b"overloaded_error" in client.ask(path)[1]
    server.wait(lambda: server.requests[-1].outcome != "")
    assert [request.outcome for request in server.requests] == ["cut", "sent", "sent", "sent", "sent"]


def test_turns_scenario_follows_from_the_request(server: FakeServer, client: Client) -> None:
    server.script(Scenario("tools", turns=1, deltas=2))
    body = {**HI, "tools": [{"name": "bash", "input_schema": BASH}], "stream": False}
    call = json.loads(client.ask(PATHS[0], body)[1])["content"][0]
    assert (call["name"], call["input"]) == ("bash", {"command": "echo turn-0"})
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "turn-0"}
    more = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    end = json.loads(client.ask(PATHS[0], {**body, "messages": HI["messages"] + more})[1])
    assert end["content"] == [{"type": "text", "text": "word0 word1"}]
    assert not server.problems


def test_flood_has_as_many_deltas_as_requested(server: FakeServer, client: Client) -> None:
    server.script(Scenario("flood", deltas=1000))
    for path, field in zip(PATHS, ("delta", "choices"), strict=True):
        events = [event for event in client.events(path) if field in event and "content" in str(event)]
        assert len([event for event in events if "word" in str(event)]) == 1000


def test_invalid_request_is_refused_and_recorded(server: FakeServer, client: Client) -> None:
    status, text = client.ask(PATHS[0], {**HI, "max_tokens": 0})
    assert status == 400
    assert server.problems == ["max_tokens: must be greater than 0"]
    assert json.loads(text)["error"]["message"] == server.problems[0]


def test_wrong_key_is_refused() -> None:
    with FakeServer(key="right") as server:
        client = Client(server.url)
        assert client.ask(PATHS[0])[0] == 401
        client.connection.close()


def test_runs_as_a_separate_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"type": "Answer", "parts": [{"type": "Text", "text": "hi there"}]}]))
    command = [sys.executable, "-m", "tests.support.fake_server", "--port", "0", "--script", str(script)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        client = Client(process.stdout.readline().strip())
        try:
            assert b"hi " in client.ask(PATHS[1])[1]
            assert client.ask("/_ctl", {"scenario": "hello", "deltas": 3, "cwd": "/"}) == (200, b"{}")
            assert b"word2" in client.ask(PATHS[1])[1]
            client.connection.request("GET", "/_log")
            log = json.loads(client.connection.getresponse().read())
            assert [entry["answer"] for entry in log["log"]] == ["hello"]
            assert log["log"][0]["t"] < log["log"][0]["t_done"]
        finally:
            client.connection.close()
            process.terminate()


def anthropic(*messages: dict[str, Any], **fields: Any) -> list[str]:
    return validate_anthropic({"model": "m", "max_tokens": 9, "messages": list(messages), **fields})


def openai(*messages: dict[str, Any], **fields: Any) -> list[str]:
    return validate_openai({"model": "m", "messages": list(messages), **fields})


USER = {"role": "user", "content": "hi"}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "bash", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
CALL = {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOOL = {"role": "tool", "tool_call_id": "a", "content": "x"}


def test_valid_histories_are_valid() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "s"}
    words = {"type": "text", "text": "ok"}
    assert not anthropic(USER, USE, RESULT, {"role": "assistant", "content": [thought, words]}, USER)
    assert not anthropic(USER, USER, USE, RESULT, USER)
    assert not openai(
        {"role": "system", "content": "s"}, USER, CALLS, TOOL, {"role": "assistant", "content": "x"}
    )
    assert not openai(USER, CALLS, TOOL, USER, USER)


@pytest.mark.parametrize(
    ("problems", "message"),
    [
        (anthropic(USER, USE), "without `tool_result`"),
        (anthropic(USER, USE, USER), "without `tool_result`"),
        (anthropic(USER, RESULT), "has no call in the turn before"),
        (anthropic(USER, USE, USER, RESULT), "must come first"),
        (anthropic(USER, USE, RESULT, USE, RESULT), "ids must be unique"),
        (anthropic(USE, RESULT), "first message must be a user's"),
        (anthropic({"role": "user", "content": []}), "must not be empty"),
        (anthropic({"role": "user", "content": [{"type": "text", "text": " "}]}), "non-whitespace"),
        (
            anthropic(USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}),
            "signature",
        ),
        (anthropic(USER, {"role": "assistant", "content": "ends so "}), "trailing whitespace"),
        (anthropic(USER, {"role": "system", "content": "x"}), "unexpected role"),
        (anthropic(USER, max_tokens=0), "max_tokens"),
        (anthropic(USER, thinking={"type": "enabled", "budget_tokens": 2000}), "greater than thinking"),
        (anthropic(USER, tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2), "unique"),
        (openai(USER, CALLS), "no tool messages"),
        (openai(USER, CALLS, USER), "no tool messages"),
        (openai(USER, TOOL), "must answer a preceding tool call"),
        (openai(USER, CALLS, TOOL, TOOL), "must answer a preceding tool call"),
        (openai(USER, {**CALLS, "tool_calls": [CALL, CALL]}, TOOL), "unique"),
        (openai(USER, {**CALLS, "tool_calls": []}), "non-empty list"),
        (openai(USER, {"role": "assistant", "content": None}), "must not be null"),
        (openai({"role": "user", "content": []}), "must be a list of"),
        (openai({"role": "system", "content": "x"}), "no message of the user"),
        (openai(USER, max_tokens=-1), "positive"),
        (openai(USER, tools=[]), "too short"),
        (openai(USER, stream_options={"include_usage": True}), "stream_options"),
    ],
)
def test_invalid_histories_are_detected(problems: list[str], message: str) -> None:
    assert any(message in problem for problem in problems), problems
