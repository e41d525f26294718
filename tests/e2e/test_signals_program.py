"""Ctrl+C, TERM and hangup while the program is running: nothing lost, nothing left running."""

import os
import signal
import subprocess

import pytest

from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.support.fake_answers import Answer, Call, Silence, Text
from tests.support.limits import HANG_S


@pytest.fixture
def forks() -> None:
    """As users start it."""


SLEEP = "echo $$ > pid; exec sleep 100"


@pytest.mark.parametrize(
    ("number", "code"), ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)), ids=str
)
def test_signal_kills_the_command_and_keeps_the_partial_answer(
    tau: Program, number: signal.Signals, code: int
) -> None:
    tau.script((Text("Let me wait."), Call("bash", {"command": SLEEP}, id="c1")))
    program = tau.start("-p", "wait")
    child = int(wait_for(tau.project / "pid"))
    program.send_signal(number)
    out, err = program.communicate(timeout=HANG_S)
    assert (program.returncode, out) == (code, b"")
    assert err.decode().startswith("tau: Interrupted. Your progress is saved")
    assert not is_alive(child)
    (entries,) = tau.sessions()
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    assert [message["role"] for message in messages] == ["user", "assistant", "toolResult"]
    assert messages[1]["content"][0]["text"] == "Let me wait."
    assert messages[2]["toolCallId"] == "c1"
    tau.script("welcome back")
    assert tau.ask("-c", "go on").stdout == "welcome back\n"
    assert tau.server.problems == []


@pytest.mark.parametrize(("number", "code"), ((signal.SIGINT, 130), (signal.SIGTERM, 143)), ids=str)
@pytest.mark.parametrize("mode", ("-p", "--plain"))
def test_tau_that_waited_for_a_pipe_named_on_the_command_line_could_only_be_killed(
    tau: Program, number: signal.Signals, code: int, mode: str
) -> None:
    pipe = tau.project / "pipe"
    os.mkfifo(pipe)
    program = tau.start(mode, "@pipe")
    with pipe.open("wb"):  # waits until tau has opened it
        program.send_signal(number)
        program.communicate(timeout=HANG_S)
    assert program.returncode == code


def test_tau_in_the_background_ignores_ctrl_c_but_its_commands_do_not(tau: Program) -> None:
    """A shell without job control has `tau &` ignore Ctrl+C, and nohup has it ignore a hangup."""
    command = "kill -INT $PPID; kill -HUP $PPID; sh -c 'kill -INT $$; echo deaf'; echo code $?"
    tau.script(Call("bash", {"command": command}), "done")
    ran = subprocess.run(
        ["sh", "-c", 'trap "" HUP; "$@" & wait $!', "sh", *TAU, *FAKE, "-p", "run it"],
        capture_output=True,
        text=True,
        cwd=tau.project,
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n")
    assert tau.server.requests[-1].body["messages"][-1]["content"] == "code 130\n"


def test_ctrl_c_in_mid_stream_keeps_the_partial_text(tau: Program) -> None:
    tau.script(Silence(after_events=4, of=Answer((Text("half an answer", deltas=3),))))
    program = tau.start("--mode", "json", "hi")
    assert program.stdout is not None
    while b'"text_delta"' not in program.stdout.readline():
        pass
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=HANG_S)
    assert program.returncode == 130
    (entries,) = tau.sessions()
    last = entries[-1]["message"]
    assert last["stopReason"] == "aborted"
    assert last["content"][0]["text"].startswith("half")


def test_ctrl_c_before_the_session_opens_just_quits(tau: Program) -> None:
    program = subprocess.Popen(
        [*TAU, *FAKE, "-p", "hi"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tau.project,
    )
    assert program.stderr is not None
    assert b"Waiting for piped input to end" in program.stderr.readline()
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=HANG_S)
    assert (program.returncode, out, err) == (130, b"", b"")
    assert tau.server.requests == []


def test_ctrl_c_quits_while_waiting_for_the_next_message(tau: Program) -> None:
    program = subprocess.Popen(
        [*TAU, *FAKE, "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tau.project,
    )
    assert program.stdout is not None
    assert b'"type":"session"' in program.stdout.readline()
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=HANG_S)
    assert (program.returncode, out, err) == (130, b"", b"")


def test_reader_that_never_reads_cannot_block_the_program(tau: Program) -> None:
    tau.script("many words " * 50_000)
    program = tau.start("-p", "hi")
    tau.server.wait(lambda: bool(tau.server.requests) and tau.server.requests[0].outcome == "sent")
    for _ in range(200):
        program.send_signal(signal.SIGINT)
        try:
            program.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    program.communicate()
    assert program.returncode == 130
