"""JSON mode: header, events in protocol order, commands as JSON lines, a reader that goes away."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tau.ai.faux import Fail, FauxStep, Say, Use, Wait
from tau.base.errors import ProviderError, TauError
from tau.coding.session.session import Session
from tau.modes import json as json_mode
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.user_prompt import UserPrompt
from tests.modes.mode_rig import Captured, show

NO_RETRY = {"settings": {"retry.enabled": False}}


def writing(*texts: str) -> Callable[[Session, OutputStream], Awaitable[int]]:
    return lambda session, out: json_mode.run(session, [UserPrompt(text) for text in texts], out)


def squeezed(lines: list[dict[str, Any]]) -> list[str]:
    """Event names, messages with their role; consecutive updates count as one, progress is left out."""
    names: list[str] = []
    for line in lines:
        kind = line["type"]
        name = f"{line['message']['role']} {kind}" if kind.startswith("message_") else kind
        if kind != "tool_execution_update" and names[-1:] != [name]:
            names.append(name)
    return names


def test_header_comes_first_and_events_follow_protocol_order(tmp_path: Path) -> None:
    script = [[Say("I'll look.", 2), Use("bash", command="echo hello")], [Say("It says hello.", 2)]]
    shown = show(script, writing("List files"), tmp_path)
    header = shown.lines[0]
    assert shown.code == 0
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, str(tmp_path))
    assert squeezed(shown.lines[1:]) == [
        "agent_start",
        "turn_start",
        "user message_start",
        "user message_end",
        "assistant message_start",
        "assistant message_update",
        "assistant message_end",
        "tool_execution_start",
        "tool_execution_end",
        "toolResult message_start",
        "toolResult message_end",
        "turn_end",
        "turn_start",
        "assistant message_start",
        "assistant message_update",
        "assistant message_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert shown.types.count("message_update") > 4


def test_failed_run_shows_in_the_events_and_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Fail(ProviderError("overloaded", status=529, retryable=True))
    shown = show([[broken]], writing("hi", "never sent"), tmp_path, **NO_RETRY)
    assert shown.code == 75
    assert shown.types[-1] == "agent_settled"
    last = shown.lines[-2]["messages"][-1]
    assert (last["stopReason"], last["errorMessage"]) == ("error", "overloaded")
    assert capsys.readouterr().err == "tau: overloaded\n"
    assert len(shown.faux.requests) == 1


def test_closed_reader_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing_end = os.pipe()
    out = OutputStream(writing_end)

    async def face(session: Session, _: OutputStream) -> int:
        asyncio.get_running_loop().call_later(0.05, os.close, reading)
        return await json_mode.run(session, [UserPrompt("hi"), UserPrompt("never sent")], out)

    script = [[step for _ in range(1000) for step in (Say("word "), Wait(0.01))]]
    try:
        shown = show(script, face, tmp_path)
    finally:
        os.close(writing_end)
    assert shown.code == 141
    assert len(shown.faux.requests) == 1
    assert capsys.readouterr().err == ""


def test_full_disk_stops_the_run_with_a_reason(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this system")
    with (
        Path("/dev/full").open("wb", buffering=0) as file,
        pytest.raises(TauError, match="No space"),
    ):
        show(
            [[Say("hi")]],
            lambda session, _: json_mode.run(session, [UserPrompt("x")], OutputStream(file.fileno())),
            tmp_path,
        )


class Client:
    """Sends lines to `--json` mode, depending on what has come back."""

    def __init__(self, tmp_path: Path, *, prompts: tuple[str, ...] = ()) -> None:
        self.reading, self.writing = os.pipe()
        self.output = tmp_path / "output"
        self.prompts = [UserPrompt(text) for text in prompts]

    def send(self, *commands: Any) -> None:
        for command in commands:
            line = command if isinstance(command, bytes) else msgspec.json.encode(command)
            os.write(self.writing, line + b"\n")

    def end(self) -> None:
        os.close(self.writing)

    async def seen(self, type: str, times: int = 1) -> None:
        """Wait for this many lines of this type."""
        while self.output.read_bytes().count(b'{"type":"%b"' % type.encode()) < times:  # noqa: ASYNC110
            await asyncio.sleep(0.005)

    def talk(self, script: Any, tmp_path: Path, conversation: Callable[[], Awaitable[None]]) -> Captured:
        async def face(session: Session, out: OutputStream) -> int:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(conversation())
                return await json_mode.run_lines(session, self.prompts, LineReader(self.reading), out)

        try:
            return show(script, face, tmp_path, **NO_RETRY)
        finally:
            os.close(self.reading)


def test_messages_on_stdin_are_turns_in_order_until_eof(tmp_path: Path) -> None:
    client = Client(tmp_path, prompts=("zero",))

    async def conversation() -> None:
        client.send({"type": "message", "content": "one"}, b"", {"type": "message", "content": "two"})
        client.end()

    shown = client.talk([[Say("a")], [Say("b")], [Say("c")]], tmp_path, conversation)
    assert shown.code == 0
    assert shown.types[0] == "session"
    assert shown.types.count("agent_end") == 3
    assert shown.asked == ["zero", "one", "two"]


def test_interrupt_stops_the_turn_and_the_next_message_is_answered(tmp_path: Path) -> None:
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send({"type": "message", "content": "one"})
        await client.seen("message_update", 2)
        client.send({"type": "interrupt"}, {"type": "message", "content": "two"})
        client.end()

    shown = client.talk([[Say("half an ans"), Wait()], [Say("done")]], tmp_path, conversation)
    assert shown.code == 0
    where = shown.types.index("interrupted")
    assert shown.types[where - 1] == "agent_settled"
    assert shown.lines[where - 2]["messages"][-1]["stopReason"] == "aborted"
    assert shown.types[where + 1] == "agent_start"
    assert shown.lines[-2]["messages"][-1]["content"][0]["text"] == "done"


def test_mode_changes_while_a_session_runs(tmp_path: Path) -> None:
    """The call before it is allowed, the one after it is not: nobody can be asked."""
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send({"type": "message", "content": "one"})
        await client.seen("agent_end")
        client.send({"type": "permissions", "mode": "ask"}, {"type": "permissions", "mode": "nonsense"})
        await client.seen("error")
        client.send({"type": "message", "content": "two"})
        client.end()

    script: list[list[FauxStep]] = [
        [Use("write", path="a.txt", content="x")],
        [Say("done")],
        [Use("write", path="b.txt", content="x")],
        [Say("done")],
    ]
    shown = client.talk(script, tmp_path, conversation)
    assert (tmp_path / "a.txt").exists() and not (tmp_path / "b.txt").exists()
    [changed] = [line for line in shown.lines if line["type"] == "permissions_changed"]
    assert changed["mode"] == "ask"
    [error] = [line["error"] for line in shown.lines if line["type"] == "error"]
    assert error == 'Unknown mode "nonsense". Modes: ask, workspace, plan, yolo.'


def test_interrupt_right_after_its_message_still_stops_it(tmp_path: Path) -> None:
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send({"type": "message", "content": "one"}, {"type": "interrupt"})
        client.end()

    shown = client.talk([[Wait()]], tmp_path, conversation)
    assert shown.types[-2:] == ["agent_settled", "interrupted"]


def test_interrupt_with_nothing_to_stop_is_answered_too(tmp_path: Path) -> None:
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send({"type": "interrupt"})
        await client.seen("interrupted")
        client.send({"type": "message", "content": "hi"})
        client.end()

    shown = client.talk([[Say("hello")]], tmp_path, conversation)
    assert shown.types[:3] == ["session", "interrupted", "agent_start"]
    assert shown.lines[-2]["messages"][-1]["stopReason"] == "stop"


def test_invalid_line_is_an_error_and_the_conversation_continues(tmp_path: Path) -> None:
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send(
            b"{not json", {"type": "dance"}, {"type": "message"}, {"type": "message", "content": "hi"}
        )
        client.end()

    shown = client.talk([[Say("hello")]], tmp_path, conversation)
    errors = [line["error"] for line in shown.lines if line["type"] == "error"]
    assert len(errors) == 3
    assert all('{"type":"message","content":"..."}' in error for error in errors)
    assert shown.types[-1] == "agent_settled"


def test_empty_message_is_an_error_and_half_a_character_is_none(tmp_path: Path) -> None:
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send({"type": "message", "content": " \n"}, b'{"type":"message","content":"cut \\udc00"}')
        client.end()

    shown = client.talk([[Say("hello")]], tmp_path, conversation)
    assert [line["error"] for line in shown.lines if line["type"] == "error"] == ["The message is empty."]
    sent = [line["message"]["content"] for line in shown.lines if line["type"] == "message_start"]
    assert sent[0] == "cut \ufffd" and shown.types.count("agent_settled") == 1


def test_failed_message_does_not_end_the_conversation_and_the_last_one_sets_the_exit_code(
    tmp_path: Path,
) -> None:
    client = Client(tmp_path)

    async def conversation() -> None:
        client.send({"type": "message", "content": "one"}, {"type": "message", "content": "two"})
        client.end()

    script = [[Say("fine")], [Fail(ProviderError("bad key", status=401))]]
    shown = client.talk(script, tmp_path, conversation)
    assert shown.code == 1
    assert shown.types.count("agent_end") == 2


def test_closing_the_input_drops_queued_messages(tmp_path: Path) -> None:
    async def face(session: Session, out: OutputStream) -> int:
        lines = LineReader(reading)

        def stop() -> None:
            lines.close()
            session.abort()

        asyncio.get_running_loop().call_later(0.05, stop)
        return await json_mode.run_lines(session, [UserPrompt("one"), UserPrompt("two")], lines, out)

    reading, writing_end = os.pipe()
    try:
        shown = show([[Wait()]], face, tmp_path)
    finally:
        os.close(reading)
        os.close(writing_end)
    assert len(shown.faux.requests) == 1
