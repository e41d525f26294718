"""RPC mode sends what clients of the first generation were promised, in their shapes and their order."""

import base64
import json
import subprocess
from typing import Any

import msgspec
import pytest

from tests.e2e.program import FAKE, TAU, Program
from tests.modes import protocol
from tests.support.fake_answers import Call, Silence, Text, Thinking
from tests.support.limits import HANG_S
from tests.support.pictures import PNG

Frame = dict[str, Any]
USAGE = {"input", "output", "cacheRead", "cacheWrite", "cost"}
# Fields of each kind of streamed piece, beside its type.
PIECES = {
    "start": {"partial"},
    **{f"{block}_start": {"contentIndex", "partial"} for block in ("text", "thinking", "toolcall")},
    **{f"{block}_delta": {"contentIndex", "delta", "partial"} for block in ("text", "thinking", "toolcall")},
    **{f"{block}_end": {"contentIndex", "content", "partial"} for block in ("text", "thinking")},
    "toolcall_end": {"contentIndex", "toolCall", "partial"},
    "done": {"reason", "message"},
    "error": {"reason", "error"},
}


class Old:
    """A client that writes a line and reads lines, and knows no ids."""

    def __init__(self, tau: Program) -> None:
        self.child = tau.popen(
            [*TAU, "--mode", "rpc", "--rpc-version", "1", *FAKE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=tau.project,
        )

    def ask(self, last: str, **message: Any) -> list[Frame]:
        """Send a message; the events up to the last one of that kind."""
        assert self.child.stdin is not None and self.child.stdout is not None
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()
        events = []
        for line in self.child.stdout:
            events.append(json.loads(line))
            assert last == "error" or events[-1]["type"] != "error", events[-1]
            if events[-1]["type"] == last:
                break
        return [event for event in events if event["type"] not in ("ready", "response")]

    def end(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        assert self.child.wait(HANG_S) == 0


@pytest.fixture
def old(tau: Program) -> Any:
    tau.settings(**{"retry.enabled": False, "compaction.keepRecentTokens": 1, "titles.enabled": False})
    client = Old(tau)
    with client.child:
        yield client
        client.end()


def kinds(events: list[Frame]) -> list[str]:
    return [event["type"] for event in events if event["type"] not in ("message_update", "entry_appended")]


def check_assistant(message: Frame) -> None:
    assert {"role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"} <= set(message)
    assert set(message["usage"]) >= USAGE
    assert set(message["usage"]["cost"]) == {"input", "output", "cacheRead", "cacheWrite", "total"}
    msgspec.convert(message["content"], list[protocol.Text | protocol.Thinking | protocol.ToolCall])


def test_prompt_streams_every_kind_of_piece_and_correlates_calls(tau: Program, old: Old) -> None:
    (tau.project / "a.txt").write_text("the content\n")
    calls = (Call("read", {"path": "a.txt"}, id="call_1"), Call("read", {"path": "none.txt"}, id="call_2"))
    tau.script((Thinking("Hm.", deltas=2), Text("I look.", deltas=2), *calls), Text("Done", deltas=2))
    events = old.ask("agent_settled", type="prompt", message="go")
    turn, tools = ["message_start", "message_end"], ["tool_execution_start", "tool_execution_end"]
    first = ["agent_start", "turn_start", *turn * 2, *tools * 2, *turn * 2, "turn_end"]
    assert sorted(kinds(events)) == sorted(
        [*first, "turn_start", *turn, "turn_end", "agent_end", "agent_settled"]
    )
    assert kinds(events)[:6] == first[:6]
    updates = [event for event in events if event["type"] == "message_update"]
    for update in updates:
        check_assistant(update["message"])
        piece = update["assistantMessageEvent"]
        assert PIECES[piece["type"]] <= set(piece), piece
        if "partial" in piece:
            assert piece["partial"] == update["message"]
    seen = [update["assistantMessageEvent"]["type"] for update in updates]
    assert seen.count("start") == seen.count("done") == 2 and set(seen) == {*PIECES} - {"error"}
    self_contained = [event["message"] for event in events if event["type"] == "message_end"]
    answer = self_contained[1]
    check_assistant(answer)
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "toolCall", "toolCall"]
    assert answer["stopReason"] == "toolUse"
    for id, failed in (("call_1", False), ("call_2", True)):
        start, end, result = (
            next(place for place, event in enumerate(events) if event["type"] == kind and found(event, id))
            for kind, found in (
                ("tool_execution_start", lambda event, id: event["toolCallId"] == id),
                ("tool_execution_end", lambda event, id: event["toolCallId"] == id),
                ("message_end", lambda event, id: event["message"].get("toolCallId") == id),
            )
        )
        assert (
            events.index(next(e for e in events if e.get("message") == answer and "end" in e["type"])) < start
        )
        assert start < end < result
        assert set(events[start]) >= {"toolCallId", "toolName", "args"}
        assert events[end]["isError"] is failed and isinstance(events[end]["result"], str) is failed
        kept = events[result]["message"]
        assert {"role", "toolCallId", "toolName", "content", "isError", "timestamp"} <= set(kept)
        assert kept["isError"] is failed
    [first, _] = [event for event in events if event["type"] == "turn_end"]
    assert {one["toolCallId"] for one in first["toolResults"]} == {"call_1", "call_2"}
    [end] = [event for event in events if event["type"] == "agent_end"]
    assert [one["role"] for one in end["messages"]] == ["user", "assistant", *["toolResult"] * 2, "assistant"]


def test_attachments_are_kept_on_the_message_and_reach_the_model(tau: Program, old: Old) -> None:
    def attachment(kind: str, name: str, mime: str, data: bytes, **more: str) -> Frame:
        content = base64.b64encode(data).decode()
        known = {"id": name, "type": kind, "fileName": name, "mimeType": mime, "size": len(data)}
        return {**known, "content": content, **more}

    sent = [
        attachment("image", "dot.png", "image/png", PNG),
        attachment("document", "a.txt", "text/plain", b"as read"),
        attachment("document", "b.pdf", "application/pdf", b"?", extractedText="as given", preview="eA=="),
    ]
    events = old.ask("agent_settled", type="prompt", message="look", attachments=sent)
    kept = next(event["message"] for event in events if event["type"] == "message_end")
    assert [one["fileName"] for one in kept["attachments"]] == ["dot.png", "a.txt", "b.pdf"]
    assert kept["attachments"][2] == sent[2]
    raw = tau.server.requests[-1].raw
    assert b"as read" in raw and b"as given" in raw and b"image_url" in raw


def test_shell_command_and_compaction_report_their_ends(tau: Program, old: Old) -> None:
    [*_, end] = old.ask("bash_end", type="bash", command="echo out")
    assert isinstance(end["message"].pop("timestamp"), int)
    ended = {"exitCode": 0, "cancelled": False, "truncated": False}
    assert end["message"] == {"role": "bashExecution", "command": "echo out", "output": "out\n", **ended}
    tau.script("one " * 900, "two", "A summary. " * 40)
    for prompt in ("go", "and once more"):
        old.ask("agent_settled", type="prompt", message=prompt)
    assert "Ran `echo out`\n```\nout\n```" in tau.user_messages()[0]
    [*_, compaction] = old.ask("compaction", type="compact", customInstructions="Focus on code changes")
    assert compaction["summary"].startswith("A summary.") and isinstance(compaction["tokensBefore"], int)
    assert "auto" not in compaction
    assert b"Focus on code changes" in tau.server.requests[-1].raw


def test_errors_are_events_and_an_abort_ends_the_stream(tau: Program, old: Old) -> None:
    [error] = old.ask("error", type="nonsense")
    assert isinstance(error["error"], str)
    *_, error = old.ask("error", type="compact")
    assert isinstance(error["error"], str)
    tau.script(Silence(after_events=4))
    old.ask("message_update", type="prompt", message="go")
    events = old.ask("agent_settled", type="abort")
    [last] = [
        event["assistantMessageEvent"]
        for event in events
        if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "error"
    ]
    assert last["reason"] == last["error"]["stopReason"] == "aborted"
    check_assistant(last["error"])
