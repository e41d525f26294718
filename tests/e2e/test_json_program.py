"""`tau --mode json` and `tau --json`: the protocol of programs that drive tau."""

import json
import random
import subprocess
from typing import Any

from tests.e2e.program import FAKE, TAU, Program
from tests.support.fake_answers import Answer, Call, Status, Text
from tests.support.random_lines import VALUES, encoded_line
from tests.support.soak import is_soaking


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.split("\n")[:-1]]


def names(lines: list[dict[str, Any]]) -> list[str]:
    """Event names, messages with their role, repeated ones once."""
    found: list[str] = []
    for line in lines:
        kind = line["type"]
        name = f"{kind} {line['message']['role']}" if kind.startswith("message_") else kind
        if kind != "tool_execution_update" and found[-1:] != [name]:
            found.append(name)
    return found


def test_events_of_one_prompt_follow_protocol_order(tau: Program) -> None:
    tau.script(
        (
            Text("I'll list the files.", deltas=3),
            Call("bash", {"command": "ls -la"}, id="call_123", deltas=4),
        ),
        Text("Here are the files", deltas=2),
    )
    ran = tau.run(*FAKE, "--mode", "json", "List files in the current directory")
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = events(ran.stdout)
    assert names(lines) == [
        "session",
        "agent_start",
        "turn_start",
        "message_start user",
        "message_end user",
        "message_start assistant",
        "message_update assistant",
        "message_end assistant",
        "tool_execution_start",
        "tool_execution_end",
        "message_start toolResult",
        "message_end toolResult",
        "turn_end",
        "turn_start",
        "message_start assistant",
        "message_update assistant",
        "message_end assistant",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    (start,) = [line for line in lines if line["type"] == "tool_execution_start"]
    (end,) = [line for line in lines if line["type"] == "tool_execution_end"]
    assert start == {
        "type": "tool_execution_start",
        "toolCallId": "call_123",
        "toolName": "bash",
        "args": {"command": "ls -la"},
    }
    assert end["isError"] is False
    assert end["result"]["content"][0]["type"] == "text"
    turn = next(line for line in lines if line["type"] == "turn_end")
    assert turn["toolResults"][0]["toolCallId"] == "call_123"
    assert [message["role"] for message in lines[-2]["messages"]] == [
        "user",
        "assistant",
        "toolResult",
        "assistant",
    ]


def test_json_mode_takes_stdin_as_text_and_fails_with_the_same_codes(tau: Program) -> None:
    tau.script(Status(429, "Slow down"))
    ran = tau.run(*FAKE, "--mode", "json", stdin="hello\n")
    assert ran.returncode == 75
    assert tau.user_messages() == ["hello\n"]
    assert events(ran.stdout)[-2]["messages"][-1]["stopReason"] == "error"


def test_json_lines_in_and_out(tau: Program) -> None:
    tau.script("first", "second")
    stdin = '{"type":"message","content":"one"}\nnonsense\n{"type":"message","content":"two"}\n'
    ran = tau.run(*FAKE, "--json", stdin=stdin)
    assert ran.returncode == 0
    lines = events(ran.stdout)
    assert lines[0]["type"] == "session"
    assert [line["type"] for line in lines].count("agent_end") == 2
    assert [line["type"] for line in lines].count("error") == 1
    assert tau.user_messages() == ["one", "two"]


def test_random_lines_are_answered_and_the_conversation_continues(tau: Program) -> None:
    rng = random.Random(19)
    kinds = ("message", "message", "interrupt", "permissions", "nonsense", None)
    fields = ("content", "mode", "allow", "ask", "deny", "type")

    def line() -> bytes:
        message = {"type": rng.choice(kinds), **{name: rng.choice(VALUES) for name in rng.sample(fields, 2)}}
        return encoded_line(message, rng)

    lines = b"".join(line() for _ in range(10_000 if is_soaking() else 300))
    last = b'{"type":"permissions","mode":"ask"}\n{"type":"message","content":"the last one"}\n'
    ran = tau.run(*FAKE, "--json", "--snapshots", "none", stdin=lines + last)
    assert ran.returncode == 0, ran.stderr[-2000:]
    for event in events(ran.stdout):
        assert isinstance(event["type"], str)
        assert event["type"] != "error" or isinstance(event["error"], str)
    assert tau.user_messages()[-1] == "the last one"


def test_outside_interrupt_stops_a_running_turn(tau: Program) -> None:
    tau.script(Answer((Text("word " * 400, deltas=400),), delay_s=0.02), "fine")
    program = subprocess.Popen(
        [*TAU, *FAKE, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert program.stdin is not None
    assert program.stdout is not None
    with program:
        program.stdin.write(b'{"type":"message","content":"one"}\n')
        program.stdin.flush()
        while b'"text_delta"' not in program.stdout.readline():
            pass
        program.stdin.write(b'{"type":"interrupt"}\n{"type":"message","content":"two"}\n')
        program.stdin.close()
        rest = events(program.stdout.read().decode())
    assert program.returncode == 0
    kinds = [line["type"] for line in rest]
    where = kinds.index("interrupted")
    assert rest[where - 2]["messages"][-1]["stopReason"] == "aborted"
    assert rest[-2]["messages"][-1]["content"] == [{"type": "text", "text": "fine"}]


def test_closed_reader_stops_the_run(tau: Program) -> None:
    tau.script(Answer((Text("word " * 2000, deltas=2000),), delay_s=0.01))
    command = (
        f"{' '.join(TAU)} {' '.join(FAKE)} --mode json hi | head -n 3 >/dev/null; echo ${{PIPESTATUS[0]}}"
    )
    ran = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tau.project
    )
    assert (ran.stdout, ran.stderr) == ("141\n", "")
    tau.server.wait(lambda: tau.server.requests[0].outcome == "left")
