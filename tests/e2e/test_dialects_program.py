"""`tau -p` against the fake server in every dialect, and with what local servers need."""

from typing import Any

import pytest

from tau.ai.apis import DIALECTS
from tests.e2e.program import Program
from tests.support.fake_answers import Answer, Call, Text, Thinking
from tests.support.fake_dialects import BY_API

WRITTEN = '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call>'


def serve(tau: Program, api: str, **compat: Any) -> None:
    row = {
        "baseUrl": f"{tau.server.url}{BY_API[api].base_path}",
        "api": api,
        "apiKey": "x",
        "compat": compat,
        "models": [{"id": "fake-model", "reasoning": True}],
    }
    tau.write("models.json", {"providers": {"fake": row}})


@pytest.mark.parametrize("api", DIALECTS)
def test_hi_is_answered_after_a_tool_call(tau: Program, api: str) -> None:
    serve(tau, api)
    (tau.project / "a.txt").write_text("the content\n")
    tau.script(Answer((Thinking("Hm."), Text("Look."), Call("read", {"path": "a.txt"}))), "Hello.")
    ran = tau.ask("hi")
    assert (ran.returncode, ran.stdout) == (0, "Hello.\n"), ran.stderr
    assert tau.server.problems == []
    first, second = tau.server.requests
    assert (BY_API[api].results(first.body), BY_API[api].results(second.body)) == (0, 1)
    assert b"the content" in second.raw


def test_context_size_is_the_same_in_every_request(tau: Program) -> None:
    serve(tau, "ollama-chat")
    tau.settings(**{"local.numCtx": 32768})
    tau.script(Call("read", {"path": "a.txt"}), Call("job"), "Hello.")
    assert tau.ask("hi").stdout == "Hello.\n"
    assert [request.body["options"]["num_ctx"] for request in tau.server.requests] == [32768] * 3


@pytest.mark.parametrize("api", ["openai-completions", "ollama-chat"])
def test_call_that_the_model_writes_as_text_runs(tau: Program, api: str) -> None:
    serve(tau, api, textCalls=True, thinkTags="written")
    (tau.project / "a.txt").write_text("the content\n")
    tau.script(Answer((Text(f"<think>Hm.</think>\n\nLook.\n{WRITTEN}", deltas=12),)), "Hello.")
    ran = tau.ask("hi")
    assert (ran.returncode, ran.stdout) == (0, "Hello.\n"), ran.stderr
    assert tau.server.problems == []
    second = tau.server.requests[1]
    assert BY_API[api].results(second.body) == 1 and b"the content" in second.raw
    assert b"<tool_call>" not in second.raw


def test_thinking_goes_back_in_the_field_that_it_came_in(tau: Program) -> None:
    serve(tau, "openai-completions", thinkingField="same")
    tau.script(Answer((Thinking("Hm."), Call("read", {"path": "a.txt"}))), "Hello.")
    assert tau.ask("hi").returncode == 0
    [sent] = [one for one in tau.server.requests[1].body["messages"] if one["role"] == "assistant"]
    assert sent["reasoning_content"] == "Hm." and "reasoning" not in sent
