"""Answers in an unusual form, in every dialect: whole documents, other content types, late errors."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.http import HttpTransport
from tau.ai.wire import TextContent, ToolCall, ToolResultMessage, text_of, without_signature
from tau.sdk import SessionOptions, create_session
from tests.ai.dialect_client import answer, failed, message, model
from tests.support.fake_answers import (
    Answer,
    Call,
    ErrorEvent,
    Raw,
    Scriptable,
    Status,
    Text,
    Thinking,
    Usage,
)
from tests.support.fake_dialects import DIALECTS, Dialect
from tests.support.fake_server import FakeServer

EVERY = pytest.mark.parametrize("spoken", DIALECTS.values(), ids=lambda spoken: spoken.name)
WITH_USAGE = {"stream_options": {"include_usage": True}}
PARTS = (Thinking("Hm."), Text("Reading."), Call("read", {"path": "a"}, id="c1"), Call("job", {}, id="c2"))


@EVERY
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain", ""])
@pytest.mark.parametrize("before", ["", "\n  "])
def test_answer_that_does_not_stream_is_read(spoken: Dialect, content_type: str, before: str) -> None:
    speaker = model(spoken.name)
    whole = spoken.whole(Answer(PARTS, Usage(input=7, output=5)), {})
    read = message(speaker, answer(speaker, Raw(before + json.dumps(whole), 200, content_type)))
    assert [without_signature(part) for part in read.content[-3:]] == [
        TextContent("Reading."),
        ToolCall("c1", "read", {"path": "a"}),
        ToolCall("c2", "job", {}),
    ]
    assert (read.stop_reason, read.usage.input, read.usage.output) == ("toolUse", 7, 5)
    cut = spoken.whole(Answer((Text("so"),), stop="length"), {})
    assert answer(speaker, Raw(json.dumps(cut), 200, content_type))[-1] == d.Done("length")


@EVERY
@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "text/html", "x/y"])
def test_stream_under_another_content_type_is_read(spoken: Dialect, content_type: str) -> None:
    speaker = model(spoken.name)
    events = b"".join(spoken.events(Answer((Text("Hello."),)), {})).decode("latin-1")
    raw = Raw(events, 200, content_type, encoding="latin-1")
    assert message(speaker, answer(speaker, raw)).text == "Hello."


@EVERY
@pytest.mark.parametrize(
    "body", ["{}", '{"models": []}', "[1]", '{"choices": []}', "{broken", '{"a": 1}\n{"b": 2}']
)
def test_other_document_is_not_retried(spoken: Dialect, body: str) -> None:
    error = failed(model(spoken.name), Raw(body, 200, "application/json"))
    assert str(error) == "acme sent a document instead of a stream; is the base URL right?"
    assert not error.retryable


@EVERY
def test_error_after_the_end_of_an_answer_does_not_repeat_it(spoken: Dialect) -> None:
    speaker = model(spoken.name)
    whole = Answer((Text("Hello."),), Usage(input=7, output=5))
    before_end = len(list(spoken.events(whole, WITH_USAGE)))
    before_end -= spoken.after_end
    read = message(speaker, answer(speaker, ErrorEvent(before_end, "api_error", "Late", of=whole)))
    assert read.text == "Hello."


def test_usage_after_a_late_error_is_counted() -> None:
    speaker, spoken = model("openai-completions"), DIALECTS["/chat/completions"]
    events = list(spoken.events(Answer((Text("Hello."),), Usage(input=7)), WITH_USAGE))
    events.insert(-2, spoken.error_event("server_error", "Late"))
    read = message(speaker, answer(speaker, Raw(b"".join(events).decode(), 200, "text/event-stream")))
    assert (read.text, read.usage.input) == ("Hello.", 7)


GROQ = {
    "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for "
    "more details.",
    "type": "invalid_request_error",
    "code": "tool_use_failed",
    "failed_generation": '<function=write{"path": "a.txt"}</function>',
    "wrote": 'You wrote: <function=write{"path": "a.txt"}</function>',
}
REJECTED: dict[str, tuple[int, dict[str, Any]]] = {
    "groq": (400, GROQ),
    "groq schema": (
        400,
        {
            "message": "tool call validation failed: parameters for tool write did not match schema: "
            "errors: "
            "[`/content`: missing]",
            "code": "tool_use_failed",
        },
    ),
    "ollama": (
        500,
        {"message": "error parsing tool call: raw='{\"path', err=unexpected end of JSON input: write"},
    ),
    "llama.cpp": (500, {"message": "Failed to parse tool call arguments as JSON: write"}),
}


def run_rejected(spoken: Dialect, folder: Path, first: Scriptable) -> list[ToolResultMessage]:
    """The results in a run whose first answer is `first`."""
    speaker = model(spoken.name)

    async def main(url: str) -> list[ToolResultMessage]:
        http = HttpTransport({})
        endpoint = d.Endpoint(base_url=url, key=None)
        options = SessionOptions(
            cwd=folder,
            stream=lambda _, request: dialect(speaker.api)(speaker, request, endpoint, http),
            save=False,
            settings={"retry.enabled": False},
        )
        try:
            async with create_session(options) as session:
                outcome = await session.prompt("go")
        finally:
            await http.close()
        assert outcome.error is None and outcome.message is not None and outcome.message.text == "Done."
        return [message for message in outcome.messages if isinstance(message, ToolResultMessage)]

    with FakeServer() as server:
        server.script(first, "Done.")
        found = asyncio.run(main(server.url))
        assert server.problems == []
    return found


@EVERY
@pytest.mark.parametrize("name", REJECTED)
def test_call_that_the_server_cannot_read_is_corrected_by_the_model(
    spoken: Dialect, name: str, tmp_path: Path
) -> None:
    status, error = REJECTED[name]
    [result] = run_rejected(spoken, tmp_path, Status(status, body={"error": error}))
    assert result.is_error and result.tool_name == "write"
    assert error["message"][:20] in text_of(result.content)
    assert error.get("wrote", "") in text_of(result.content)
    assert list(tmp_path.iterdir()) == []


@EVERY
def test_call_rejected_in_mid_stream_does_not_run(spoken: Dialect, tmp_path: Path) -> None:
    call = Call("write", {"path": "a.txt", "content": "x"}, deltas=1)
    late = ErrorEvent(
        spoken.events_before_arguments, "tool_use_failed", "Failed to call a function.", of=Answer((call,))
    )
    [result] = run_rejected(spoken, tmp_path, late)
    assert result.is_error and "Failed to call a function" in text_of(result.content)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/chat/completions", "function_call_filter: MALFORMED_FUNCTION_CALL"),
        ("/messages", "malformed_tool_use"),
        (":streamGenerateContent", "MALFORMED_FUNCTION_CALL"),
        (":streamGenerateContent", "UNEXPECTED_TOOL_CALL"),
        ("/converse-stream", "malformed_tool_use"),
    ],
)
def test_malformed_call_is_corrected_by_the_model(path: str, reason: str, tmp_path: Path) -> None:
    [result] = run_rejected(DIALECTS[path], tmp_path, Answer((Text("Let me see."),), stop=reason))
    assert result.is_error and reason in text_of(result.content)


@EVERY
@pytest.mark.parametrize("odd", ["-7001", '"7001"', "1.5", "1" + "0" * 30, "[7001]", "true", "null"])
def test_odd_usage_costs_neither_the_answer_nor_less_than_nothing(spoken: Dialect, odd: str) -> None:
    whole = json.dumps(spoken.whole(Answer((Text("Hello."),), Usage(input=7001, output=7001)), {}))
    raw = Raw(whole.replace("7001", odd), 200, "application/json")
    read = message(model(spoken.name), answer(model(spoken.name), raw))
    assert read.text == "Hello."
    counts = (read.usage.input, read.usage.output, read.usage.cache_read, read.usage.cache_write)
    assert all(0 <= count <= 10**9 for count in counts) and read.usage.cost.total >= 0
