"""`tau -p` when a conversation outgrows its model: it is compacted, continues, and can be resumed."""

import json
from typing import Any

import pytest

from tau.ai.apis import DIALECTS
from tests.e2e.program import Program
from tests.support.fake_answers import Call, Overflow, Status, Text
from tests.support.fake_dialects import BY_API

LONG = "".join(f"line {number} of a long file that says nothing of interest\n" for number in range(4_000))


def serve(tau: Program, api: str, window: int) -> None:
    base = f"{tau.server.url}{BY_API[api].base_path}"
    model = {"id": "fake-model", "contextWindow": window, "maxTokens": 1_000}
    row = {"baseUrl": base, "api": api, "apiKey": "x", "models": [model]}
    tau.write("models.json", {"providers": {"fake": row}})


def kinds(tau: Program) -> list[str]:
    [session] = tau.sessions()
    return [entry["type"] for entry in session]


def body_text(request: Any) -> str:
    return json.dumps(request.body)


@pytest.mark.parametrize("api", DIALECTS)
def test_overflow_is_compacted_and_answered(tau: Program, api: str) -> None:
    serve(tau, api, 60_000)
    tau.script("First answer.")
    assert tau.ask("the first question " + "with many words " * 800).returncode == 0
    tau.script(Overflow(), Text("## Goal\nThe first question was asked."), "Second answer.")

    ran = tau.ask("--continue", "the second question")

    assert (ran.returncode, ran.stdout) == (0, "Second answer.\n")
    assert "summarizing it" in ran.stderr
    assert kinds(tau).count("compaction") == 1
    last = body_text(tau.server.requests[-1])
    assert "The first question was asked." in last and "the second question" in last
    assert "the first question with" not in last


@pytest.mark.parametrize("api", DIALECTS)
def test_refused_first_question_is_still_asked(tau: Program, api: str) -> None:
    serve(tau, api, 60_000)
    tau.script(Overflow(), "It is 7.")

    ran = tau.ask("the only question " + "with many words " * 6_000 + "to the end?")

    assert (ran.returncode, ran.stdout) == (0, "It is 7.\n")
    last = body_text(tau.server.requests[-1])
    assert "the only question" in last and "to the end?" in last


def test_8k_server_is_usable(tau: Program) -> None:
    """Its real window is smaller than the models file says."""
    base = f"{tau.server.url}/v1"
    row = {"baseUrl": base, "api": "openai-completions", "apiKey": "x", "models": [{"id": "fake-model"}]}
    tau.write("models.json", {"providers": {"fake": row}})
    refusal = (
        "This model's maximum context length is 8192 tokens. However, you requested 18884 tokens (2500 in "
        "the messages, 16384 in the completion). Please reduce the length of the messages or completion."
    )
    tau.script(Status(400, refusal), Call("bash", {"command": "echo hi"}), "It is 7.")

    ran = tau.ask("--approval-mode", "yolo", "What is it?")

    assert (ran.returncode, ran.stdout) == (0, "It is 7.\n")
    assert "compaction" not in kinds(tau)
    first, second, third = (request.body["max_tokens"] for request in tau.server.requests)
    assert first == 16_384
    assert 1_024 <= third <= second <= 8_192 - 2_500


def test_full_window_is_noticed_before_the_request(tau: Program) -> None:
    serve(tau, "openai-completions", 24_000)
    (tau.project / "long.txt").write_text(LONG)
    tau.script(
        Call("read", {"path": "long.txt:1-1500"}),
        Call("read", {"path": "long.txt:1501-3000"}),
        Text("## Goal\nThe file says nothing."),
        "It says nothing.",
    )

    ran = tau.ask("What does long.txt say?")

    assert (ran.returncode, ran.stdout) == (0, "It says nothing.\n")
    assert "compaction" in kinds(tau)
    assert all(len(body_text(request)) < 24_000 * 5 for request in tau.server.requests)


def test_compacted_session_resumes_where_it_was(tau: Program) -> None:
    serve(tau, "openai-completions", 60_000)
    tau.script("One.")
    tau.ask("the first question " + "with many words " * 800)
    tau.script(Overflow(), Text("## Goal\nRemember the number 7391."), "Two.")
    tau.ask("--continue", "again")
    tau.script("It was 7391.")

    ran = tau.ask("--continue", "Which number?")

    assert ran.stdout == "It was 7391.\n"
    assert "Remember the number 7391." in body_text(tau.server.requests[-1])


def test_without_a_summary_the_context_is_cut_and_work_continues(tau: Program) -> None:
    serve(tau, "openai-completions", 60_000)
    tau.script("One.")
    tau.ask("the first question " + "with many words " * 800)
    tau.script(Overflow(), Overflow(), Overflow(), "Two.")

    ran = tau.ask("--continue", "again")

    assert (ran.returncode, ran.stdout) == (0, "Two.\n")
    assert kinds(tau).count("compaction") == 1


def test_new_session_takes_over(tau: Program) -> None:
    tau.script("One.", Text("# Handoff\n\nRemember the number 7391."), "I go on with 7391.")
    ran = tau.run(
        "--provider", "fake", "--model", "fake-model", "--plain", stdin="hello\n/handoff the number\n"
    )
    assert ran.returncode == 0, ran.stderr
    assert "I go on with 7391." in ran.stdout
    assert len(tau.sessions()) == 2
    assert (
        "hello" not in body_text(tau.server.requests[-1]).partition('"messages"')[2].partition("Handoff")[0]
    )
    assert "Remember the number 7391." in body_text(tau.server.requests[-1])
