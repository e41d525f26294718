"""Stopping what runs, quitting, being killed, and coming back."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.interactive.launcher import WELCOME, Launcher, User
from tests.e2e.program import FAKE, TAU, is_alive, wait_for
from tests.support.fake_answers import Answer, Call, Silence, Status, Text
from tests.support.limits import HANG_S

STOPPED = "Stopped. Type to continue"


def stop(user: User) -> None:
    user.press("escape").see(STOPPED)
    user.rests()


def test_escape_stops_a_streaming_answer(launcher: Launcher) -> None:
    launcher.tau.script(Answer((Text("word " * 2000, deltas=2000),), delay_s=0.01), "Next.")
    user = launcher.start().send("talk")
    user.see("word word")
    stop(user)
    user.send("again").see("Next.")


def test_escape_stops_an_unanswered_request(launcher: Launcher) -> None:
    launcher.tau.script(Silence(before_head=True), "Next.")
    user = launcher.start().send("talk")
    user.until(lambda _: len(launcher.tau.server.requests) == 1, "the request")
    stop(user)
    user.send("again").see("Next.")


def test_escape_stops_a_stalled_answer_and_keeps_the_partial_text(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3), "Next.")
    user = launcher.start().send("talk")
    user.see("These words")
    stop(user)
    user.see("These words")
    user.send("again").see("Next.")


def test_escape_stops_a_command_and_its_children(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "echo $$ > pid; sleep 100 & sleep 100"}), "Next.")
    user = launcher.start().send("run")
    child = int(wait_for(launcher.tau.project / "pid"))
    stop(user)
    assert not is_alive(child)
    user.send("again").see("Next.")


def test_escape_stops_the_wait_before_the_next_attempt(launcher: Launcher) -> None:
    launcher.settings(**{"retry.enabled": True, "retry.baseDelayMs": 60_000})
    launcher.tau.script(Status(529, "Overloaded"), "Next.")
    user = launcher.start().send("talk")
    user.see("Retry 1 of")
    user.press("escape").rests()
    user.send("again").see("Next.")


def test_text_typed_while_streaming_survives_a_stop(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3))
    user = launcher.start().send("talk")
    user.see("These words")
    user.write("half a thou")
    stop(user)
    user.editor_is("half a thou")


def test_queued_messages_return_to_the_editor_after_a_stop(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3))
    user = launcher.start().send("talk")
    user.see("These words")
    user.send("steer one").see("Next: steer one")
    user.write("still typing")
    stop(user)
    user.editor_is("steer one\n\nstill typing")


def test_ctrl_c_clears_the_editor_and_can_be_undone(launcher: Launcher) -> None:
    user = launcher.start().write("something long")
    user.press("ctrl+c").see("Cleared", "Press Ctrl+C again to quit")
    user.editor_is("")
    user.press("ctrl+-")
    user.editor_is("something long")


def test_ctrl_c_twice_quits(launcher: Launcher) -> None:
    user = launcher.start()
    user.press("ctrl+c").see("Press Ctrl+C again to quit")
    user.press("ctrl+c")
    assert user.term.wait() == 0


def test_ctrl_d_quits_only_with_an_empty_editor(launcher: Launcher) -> None:
    user = launcher.start().write("ab")
    user.press("home", "ctrl+d")
    user.editor_is("b")
    user.press("ctrl+d")
    assert user.leave() == 0


@pytest.mark.parametrize("command", ["/exit", "/quit"])
def test_exit_command_quits(launcher: Launcher, command: str) -> None:
    user = launcher.start().send(command)
    assert user.term.wait() == 0


def test_quitting_while_a_command_runs_kills_the_command(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "echo $$ > pid; exec sleep 100"}))
    user = launcher.start().send("run")
    child = int(wait_for(launcher.tau.project / "pid"))
    user.press("ctrl+d")
    assert user.term.wait() == 0
    assert not is_alive(child)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGTERM, 143)])
def test_signal_saves_and_quits(launcher: Launcher, number: signal.Signals, code: int) -> None:
    launcher.tau.script("First answer.", Silence(after_events=3), "Still here.")
    user = launcher.start().send("one")
    user.see("First answer.")
    user.send("two").see("These words")
    user.write("my draft")
    os.kill(user.pid, number)
    assert user.term.wait() == code
    back = launcher.start("-c")
    back.see("First answer.", "These words")


def test_session_and_draft_survive_a_kill(launcher: Launcher) -> None:
    launcher.tau.script("First answer.")
    shell = launcher.run("bash", "--norc", "-i")
    line = " ".join([*TAU, *FAKE])
    shell.term.type(f"{line}\r")
    shell.see(WELCOME)
    shell.send("one").see("First answer.")
    shell.write("an unsent thought")
    drafts = launcher.tau.home / "drafts"
    until(lambda: drafts.is_dir() and any("unsent thought" in text(one) for one in drafts.glob("*.json")))
    os.kill(int(subprocess.check_output(["pgrep", "-P", str(shell.pid)])), signal.SIGKILL)
    shell.see("Killed")
    shell.term.type(f"stty sane; clear; {line} -c\r")
    shell.see("Restored your draft from", "First answer.")
    shell.editor_is("an unsent thought")


def test_suspend_and_resume(launcher: Launcher) -> None:
    launcher.tau.script("Before.", "After.")
    shell = launcher.run("bash", "--norc", "-i")
    shell.term.type(f"{' '.join([*TAU, *FAKE])}\r")
    shell.see(WELCOME)
    shell.send("one").see("Before.")
    shell.write("kept words")
    shell.press("ctrl+z").see("Stopped")
    shell.term.type("echo in-$((6 * 7)); stty -a | tr ' ' '\\n' | grep -x -- '-\\?echo'\r")
    shell.see("in-42")
    shell.until(lambda rows: any(row.strip() == "echo" for row in rows), "an echoing terminal")
    shell.term.type("clear; fg\r")
    shell.miss("in-42")
    shell.editor_is("kept words")
    shell.press("enter").see("After.")
    assert launcher.tau.user_messages() == ["one", "kept words"]


def test_exit_restores_the_terminal_and_keeps_the_conversation_in_its_scrollback(launcher: Launcher) -> None:
    launcher.tau.script("A last word.")
    shell = launcher.run("bash", "--norc", "-i")
    shell.term.type("stty -a > before\r")
    shell.term.type(f"{' '.join([*TAU, *FAKE])}; stty -a > after; echo left-$?\r")
    shell.see(WELCOME)
    shell.send("hello").see("A last word.")
    shell.editor_is("")
    shell.press("ctrl+d").see("left-0")
    project = launcher.tau.project
    assert (project / "before").read_text() == (project / "after").read_text()
    assert shell.output.count("A last word.") == 1
    modes = shell.term.terminal.modes
    assert not any(modes.get(mode) for mode in (1000, 1004, 1049, 2031))
    assert modes.get(25, True)
    shell.term.type("echo ok-$((1 + 1))\r")
    shell.see("ok-2")


def text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def until(holds: Callable[[], bool], seconds: float = HANG_S) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)
