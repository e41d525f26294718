"""The conversation in a real terminal, without a single control sequence."""

import os
import subprocess
from pathlib import Path

import pexpect

from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.support.fake_answers import Answer, Call, Text


def leave(talk: "pexpect.spawn[str]") -> str:
    """Wait for the end; returns the remaining output."""
    talk.expect(pexpect.EOF)
    talk.close()
    return talk.before or ""


def test_conversation_with_a_tool_call(tau: Program) -> None:
    tau.script("Hello!", (Text("Looking."), Call("bash", {"command": "echo found it"})), "There it is.")
    with (tau.project / "screen").open("w") as screen:
        talk = tau.terminal()
        talk.logfile_read = screen
        talk.expect("model fake/fake-model")
        talk.expect("> ")
        talk.sendline("hi")
        talk.expect("Hello!\r\n> ")
        talk.sendline("look")
        talk.expect("Looking.\r\nbash: echo found it -> ok: found it\r\nThere it is.\r\n> ")
        talk.sendeof()
        leave(talk)
    assert talk.exitstatus == 0
    assert "\x1b" not in (tau.project / "screen").read_text()
    assert tau.user_messages() == ["hi", "look"]


def test_message_on_the_command_line_starts_the_conversation(tau: Program) -> None:
    tau.script("Hello!", "Bye!")
    talk = tau.terminal("--plain", "good morning", term="xterm-256color")
    talk.expect("> good morning\r\nHello!\r\n> ")
    talk.sendline("bye")
    talk.expect("Bye!\r\n> ")
    talk.sendline("/quit")
    leave(talk)
    assert talk.exitstatus == 0
    assert tau.user_messages() == ["good morning", "bye"]


def test_ctrl_c_stops_the_turn_then_quits_at_the_prompt(tau: Program) -> None:
    tau.script(Call("bash", {"command": "echo $$ > pid; exec sleep 100"}), "Fine.")
    talk = tau.terminal()
    talk.expect("> ")
    talk.sendline("wait")
    child = int(wait_for(tau.project / "pid"))
    talk.sendintr()
    talk.expect("Stopped.\r\n> ")
    assert not is_alive(child)
    talk.sendline("go on")
    talk.expect("Fine.\r\n> ")
    talk.sendintr()
    talk.expect("Ctrl.C again")
    talk.expect("> ")
    talk.sendintr()
    leave(talk)
    assert talk.exitstatus == 0


def test_approval_is_requested_and_the_answer_counts(tau: Program) -> None:
    tau.script(
        Call("bash", {"command": "touch made"}), "Done.", Call("bash", {"command": "touch more"}), "No."
    )
    talk = tau.terminal("--approval-mode", "ask")
    talk.expect("> ")
    talk.sendline("go")
    talk.expect("1-3, empty for none: ")
    talk.sendline("1")
    talk.expect("Done.\r\n> ")
    talk.sendline("go on")
    talk.expect("empty for none: ")
    talk.sendline("no")
    talk.expect("No.\r\n> ")
    talk.sendeof()
    leave(talk)
    assert sorted(path.name for path in tau.project.iterdir()) == ["made"]


def test_input_during_a_run_reaches_the_model(tau: Program) -> None:
    tau.script(
        Call("bash", {"command": "echo x > began; while [ ! -e go ]; do sleep 0.01; done; echo x"}), "Done."
    )
    talk = tau.terminal()
    talk.expect("> ")
    talk.sendline("work")
    wait_for(tau.project / "began")
    talk.sendline("and be quick")
    talk.sendline("")
    (tau.project / "go").touch()
    talk.expect("Done.\r\n> ")
    talk.sendeof()
    leave(talk)
    assert tau.user_messages() == ["work", "and be quick"]


def test_hangup_quits(tau: Program) -> None:
    tau.script(Answer((Text("word " * 400, deltas=400),), delay_s=0.02))
    talk = tau.terminal("hi")
    talk.expect("word word")
    talk.close(force=False)
    tau.server.wait(lambda: bool(tau.server.requests) and tau.server.requests[0].outcome == "left")
    (entries,) = tau.sessions()
    assert entries[-1]["message"]["stopReason"] == "aborted"


def test_another_folder_is_offered_in_the_home_folder(tau: Program) -> None:
    tau.script(Call("bash", {"command": "pwd > where"}), "Done.")
    talk = tau.terminal(cwd=Path(os.environ["HOME"]))
    talk.expect("home folder.*answer: ")
    talk.sendline(str(tau.project))
    talk.expect("> ")
    talk.sendline("where are you?")
    talk.expect("Done.\r\n> ")
    talk.sendeof()
    leave(talk)
    assert (tau.project / "where").read_text().strip() == str(tau.project)


def test_closed_reader_quits(tau: Program) -> None:
    tau.script(Answer((Text("word " * 2000, deltas=2000),), delay_s=0.01))
    command = (
        f"(echo hi; cat) | {' '.join(TAU)} {' '.join(FAKE)} --plain | head -n 1; echo ${{PIPESTATUS[1]}}"
    )
    ran = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tau.project
    )
    assert ran.stdout.endswith("\n141\n")
    assert ran.stderr == ""


def test_plain_mode_takes_each_line_of_a_pipe_as_a_message(tau: Program) -> None:
    tau.script("one", "two")
    ran = tau.run(*FAKE, "--plain", stdin="a\nb\n")
    assert ran.stdout.endswith("> a\none\n> b\ntwo\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert tau.user_messages() == ["a", "b"]
