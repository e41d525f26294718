"""Every line of JSON mode has exactly the shape of the protocol."""

import os
from pathlib import Path

import msgspec
import pytest

from tau.ai.faux import Act, Count, Fail, Say, Stop, Think, Use, Wait
from tau.base.errors import ProviderError
from tau.coding.session.session import Session
from tau.modes import json as json_mode
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.user_prompt import UserPrompt
from tests.modes import protocol as p
from tests.modes.mode_rig import Captured, Script, show

BUSY = Fail(ProviderError("busy", retryable=True))


def decoded(shown: Captured) -> list[p.Line]:
    return [msgspec.json.decode(line, type=p.Line) for line in shown.data.splitlines()]


@pytest.mark.parametrize(
    "script",
    (
        [[Say("Hi.", 2)]],
        [
            [Think("hm", "sig"), Say("Look."), Use("read", path="a.txt"), Use("bash", command="seq 3")],
            [Say("Done.")],
        ],
        [[Use("nothing", x=1)], [Use("read")], [Use("write", path="b", content="x" * 50)], [Say("Done.")]],
        [[Say("half"), BUSY], [Say("whole")]],
        [[Fail(ProviderError("no", status=401))]],
        [[Say("cut"), Stop("length")]],
        [[Use("write", cut=12, path="c", content="x"), Stop("length")], [Say("Done."), Count(5, 6, 7, 8)]],
    ),
    ids=("words", "tools", "mistakes", "retry", "failure", "length", "cut call"),
)
def test_every_line_of_a_run_follows_the_protocol(tmp_path: Path, script: Script) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    prompts = [UserPrompt("one"), UserPrompt("two")]
    shown = show(
        script,
        lambda session, out: json_mode.run(session, prompts, out),
        tmp_path,
        settings={"retry.baseDelayMs": 1, "retry.maxRetries": 2},
    )
    lines = decoded(shown)
    assert isinstance(lines[0], p.Header)
    assert isinstance(lines[-1], p.AgentSettled)
    started = [line.message for line in lines if isinstance(line, p.MessageStart)]
    ended = [line.message for line in lines if isinstance(line, p.MessageEnd)]
    assert [type(message) for message in started] == [type(message) for message in ended]
    calls = [line.tool_call_id for line in lines if isinstance(line, p.ToolStart)]
    assert sorted(calls) == sorted(line.tool_call_id for line in lines if isinstance(line, p.ToolEnd))


def test_last_partial_message_equals_the_final_one_except_for_late_fields(
    tmp_path: Path,
) -> None:
    script = [[Think("hm"), Say("some words", 3), Use("bash", command="true"), Count(5, 6)], [Say("Done.")]]
    lines = decoded(
        show(script, lambda session, out: json_mode.run(session, [UserPrompt("x")], out), tmp_path)
    )
    last = None
    for line in lines:
        if isinstance(line, p.MessageUpdate):
            last = line.message
            assert line.assistant_message_event.partial == last
        if isinstance(line, p.MessageEnd) and isinstance(line.message, p.Assistant):
            assert last is not None
            assert last.content == line.message.content


def test_interrupted_conversation_follows_the_protocol_too(tmp_path: Path) -> None:
    sessions: list[Session] = []
    reading, writing = os.pipe()
    os.write(writing, b'nonsense\n{"type":"message","content":"hi"}\n{"type":"interrupt"}\n')
    os.close(writing)

    async def face(session: Session, out: OutputStream) -> int:
        sessions.append(session)
        return await json_mode.run_lines(session, [], LineReader(reading), out)

    try:
        shown = show([[Say("half"), Act(lambda: sessions[0].abort()), Wait()]], face, tmp_path)
    finally:
        os.close(reading)
    kinds = [type(line) for line in decoded(shown)]
    assert kinds[0] is p.Header
    assert p.Error in kinds
    assert kinds[-1] is p.Interrupted
