"""Print mode: the answer on stdout, everything else on stderr, the outcome in the exit code."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tau.agent.events import Notice
from tau.ai.faux import Act, Fail, Say, Stop, Think, Use, Wait
from tau.base.errors import ProviderError, TauError
from tau.coding.session.session import Session
from tau.modes import print as print_mode
from tau.modes.output_stream import OutputStream
from tau.modes.user_prompt import UserPrompt
from tests.modes.mode_rig import Captured, Script, show

NO_RETRY = {"settings": {"retry.enabled": False}}


def printing(*texts: str) -> Callable[[Session, OutputStream], Awaitable[int]]:
    return lambda session, out: print_mode.run(session, [UserPrompt(text) for text in texts], out)


def answer(script: Script, tmp_path: Path, *texts: str) -> Captured:
    return show(script, printing(*(texts or ("hi",))), tmp_path, **NO_RETRY)


def test_only_the_text_of_the_last_answer_reaches_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    script = [
        [Think("hm"), Say("Let me look."), Use("read", path="a.txt")],
        [Think("so"), Say("It is alpha.")],
    ]
    shown = answer(script, tmp_path)
    assert (shown.code, shown.text) == (0, "It is alpha.\n")
    assert capsys.readouterr() == ("", "")


def test_answer_ending_in_a_newline_gets_no_second_one(tmp_path: Path) -> None:
    assert answer([[Say("one\n"), Say("two\n")]], tmp_path).text == "one\ntwo\n"


def test_several_prompts_share_a_session_and_the_last_answer_is_printed(tmp_path: Path) -> None:
    shown = answer([[Say("first")], [Say("second")]], tmp_path, "one", "two")
    assert shown.text == "second\n"
    assert shown.asked == ["one", "two"]


def test_command_of_a_file_is_expanded_and_a_path_is_not(tmp_path: Path) -> None:
    commands = Path(os.environ["HOME"]) / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "check.md").write_text("---\ndescription: d\n---\nCheck ${1:-all} of $2.\n")
    shown = answer([[Say("ok")]] * 3, tmp_path, "/check '' tests", "/home/check is a path", "/check a b")
    assert shown.asked == ["Check all of tests.", "/home/check is a path", "Check a of b."]


@pytest.mark.parametrize(
    ("error", "code"),
    (
        (ProviderError("the server is overloaded", status=529, retryable=True), 75),
        (ProviderError("the key is wrong", status=401), 1),
        (TauError("something else"), 1),
    ),
)
def test_failure_is_reported_on_stderr_and_in_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    shown = answer([[Say("half an ans"), Fail(error)]], tmp_path, "one", "never sent")
    assert (shown.code, shown.text) == (code, "")
    assert capsys.readouterr().err == f"tau: {error}\n"
    assert len(shown.faux.requests) == 1


def test_truncated_answer_is_printed_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = answer([[Say("half an ans"), Stop("length")]], tmp_path)
    assert (shown.code, shown.text) == (0, "half an ans\n")
    assert "cut off" in capsys.readouterr().err


def test_empty_answer_prints_only_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer([[Think("hm")]], tmp_path)
    assert (shown.code, shown.text) == (0, "")
    assert capsys.readouterr().err == "tau: The model returned an empty response.\n"


def test_interrupted_run_exits_with_130(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sessions: list[Session] = []

    async def face(session: Session, out: OutputStream) -> int:
        sessions.append(session)
        return await print_mode.run(session, [UserPrompt("hi"), UserPrompt("never sent")], out)

    shown = show([[Say("half"), Act(lambda: sessions[0].abort()), Wait()]], face, tmp_path)
    assert (shown.code, shown.text) == (130, "")
    assert capsys.readouterr().err == "tau: Interrupted.\n"


def test_notices_and_retries_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def face(session: Session, out: OutputStream) -> int:
        session.notices += [Notice("info", "This is a demo."), Notice("warning", "Careful.")]
        return await print_mode.run(session, [UserPrompt("hi")], out)

    busy = Fail(ProviderError("busy", retryable=True))
    shown = show([[busy], [Say("there")]], face, tmp_path, settings={"retry.baseDelayMs": 1})
    assert (shown.code, shown.text) == (0, "there\n")
    first, second, third = capsys.readouterr().err.splitlines()
    assert (first, second) == ("tau: This is a demo.", "tau: warning: Careful.")
    assert third.startswith("tau: busy. Retrying in 0")


def test_closed_reader_is_not_a_failure_once_the_answer_is_complete(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        gone = OutputStream(writing)
        shown = show(
            [[Say("hello")]], lambda session, _: print_mode.run(session, [UserPrompt("hi")], gone), tmp_path
        )
    finally:
        os.close(writing)
    assert shown.code == 0
    assert gone.gone


def test_full_disk_is_an_error_with_a_reason() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this system")
    with Path("/dev/full").open("wb", buffering=0) as file, pytest.raises(TauError, match="No space left"):
        OutputStream(file.fileno()).text("hello")


def test_terminal_gets_no_control_sequences_and_a_pipe_gets_the_raw_text() -> None:
    text = "a\x1b]0;title\x07b\x1b[31mc\n"
    for make, expected in ((os.openpty, b"abc\r\n"), (os.pipe, text.encode())):
        reading, writing = make()
        try:
            OutputStream(writing).text(text)
            assert os.read(reading, 100) == expected
        finally:
            os.close(reading)
            os.close(writing)


def test_non_blocking_pipe_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = b"x" * 1_000_000

    async def main() -> bytes:
        async def read() -> bytes:
            found = bytearray()
            while len(found) < len(data):
                found += await asyncio.to_thread(os.read, reading, 100_000)
            return bytes(found)

        async with asyncio.TaskGroup() as tasks:
            got = tasks.create_task(read())
            await asyncio.to_thread(OutputStream(writing).write, data)
        return got.result()

    try:
        assert asyncio.run(main()) == data
    finally:
        os.close(reading)
        os.close(writing)
