"""`tau -p` when a conversation outgrows its model: it is compacted, goes on, and can be resumed."""

import json
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.support.fake_answers import Call, Overflow, Text

LONG = "".join(f"line {number} of a long file that says nothing of interest\n" for number in range(4_000))


def serve(tau: Program, api: str, window: int) -> None:
    base = tau.server.url if api == "anthropic-messages" else f"{tau.server.url}/v1"
    model = {"id": "fake-model", "contextWindow": window, "maxTokens": 1_000}
    row = {"baseUrl": base, "api": api, "apiKey": "x", "models": [model]}
    tau.write("models.json", {"providers": {"fake": row}})


def kinds(tau: Program) -> list[str]:
    [session] = tau.sessions()
    return [entry["type"] for entry in session]


def body_text(request: Any) -> str:
    return json.dumps(request.body)


@pytest.mark.parametrize("api", ("openai-completions", "anthropic-messages"))
def test_what_is_too_large_is_compacted_and_the_answer_comes(tau: Program, api: str) -> None:
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


def test_a_full_window_is_noticed_before_the_request(tau: Program) -> None:
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


def test_a_compacted_session_goes_on_where_it_was(tau: Program) -> None:
    serve(tau, "openai-completions", 60_000)
    tau.script("One.")
    tau.ask("the first question " + "with many words " * 800)
    tau.script(Overflow(), Text("## Goal\nRemember the number 7391."), "Two.")
    tau.ask("--continue", "again")
    tau.script("It was 7391.")

    ran = tau.ask("--continue", "Which number?")

    assert ran.stdout == "It was 7391.\n"
    assert "Remember the number 7391." in body_text(tau.server.requests[-1])


def test_without_a_summary_it_is_cut_and_goes_on(tau: Program) -> None:
    serve(tau, "openai-completions", 60_000)
    tau.script("One.")
    tau.ask("the first question " + "with many words " * 800)
    tau.script(Overflow(), Overflow(), Overflow(), "Two.")

    ran = tau.ask("--continue", "again")

    assert (ran.returncode, ran.stdout) == (0, "Two.\n")
    assert kinds(tau).count("compaction") == 1


def test_a_new_session_takes_over(tau: Program) -> None:
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
