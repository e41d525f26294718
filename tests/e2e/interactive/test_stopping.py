"""Stopping what runs, leaving, being ended from outside, and coming back."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.interactive.desk import WELCOME, Desk, Seat
from tests.e2e.program import FAKE, TAU, is_alive, wait_for
from tests.support.fake_answers import Answer, Call, Silence, Status, Text

STOPPED = "Stopped. Type to continue"


def stop(seat: Seat) -> None:
    seat.press("escape").see(STOPPED)
    seat.rests()


def test_escape_stops_an_answer_that_streams(desk: Desk) -> None:
    desk.tau.script(Answer((Text("word " * 2000, deltas=2000),), delay_s=0.01), "Next.")
    seat = desk.start().send("talk")
    seat.see("word word")
    stop(seat)
    seat.send("again").see("Next.")


def test_escape_stops_a_request_that_got_no_answer(desk: Desk) -> None:
    desk.tau.script(Silence(before_head=True), "Next.")
    seat = desk.start().send("talk")
    seat.until(lambda _: len(desk.tau.server.requests) == 1, "the request")
    stop(seat)
    seat.send("again").see("Next.")


def test_escape_stops_a_stalled_answer_and_keeps_what_came(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3), "Next.")
    seat = desk.start().send("talk")
    seat.see("These words")
    stop(seat)
    seat.see("These words")
    seat.send("again").see("Next.")


def test_escape_stops_a_command_and_its_children(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "echo $$ > pid; sleep 100 & sleep 100"}), "Next.")
    seat = desk.start().send("run")
    child = int(wait_for(desk.tau.project / "pid"))
    stop(seat)
    assert not is_alive(child)
    seat.send("again").see("Next.")


def test_escape_stops_the_wait_before_the_next_attempt(desk: Desk) -> None:
    desk.settings(**{"retry.enabled": True, "retry.baseDelayMs": 60_000})
    desk.tau.script(Status(529, "Overloaded"), "Next.")
    seat = desk.start().send("talk")
    seat.see("Retrying in")
    seat.press("escape").rests()
    seat.send("again").see("Next.")


def test_what_is_typed_while_it_streams_stays_when_it_is_stopped(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3))
    seat = desk.start().send("talk")
    seat.see("These words")
    seat.write("half a thou")
    stop(seat)
    seat.editor_is("half a thou")


def test_what_waits_comes_back_into_the_editor_when_it_is_stopped(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3))
    seat = desk.start().send("talk")
    seat.see("These words")
    seat.send("steer one").see("Next: steer one")
    seat.write("still typing")
    stop(seat)
    seat.editor_is("steer one\n\nstill typing")


def test_ctrl_c_clears_the_editor_and_can_be_taken_back(desk: Desk) -> None:
    seat = desk.start().write("something long")
    seat.press("ctrl+c").see("Cleared", "Press Ctrl+C again to quit")
    seat.editor_is("")
    seat.press("ctrl+-")
    seat.editor_is("something long")


def test_ctrl_c_twice_quits(desk: Desk) -> None:
    seat = desk.start()
    seat.press("ctrl+c").see("Press Ctrl+C again to quit")
    seat.press("ctrl+c")
    assert seat.term.wait() == 0


def test_ctrl_d_quits_only_with_an_empty_editor(desk: Desk) -> None:
    seat = desk.start().write("ab")
    seat.press("home", "ctrl+d")
    seat.editor_is("b")
    seat.press("ctrl+d")
    assert seat.leave() == 0


@pytest.mark.parametrize("command", ["/exit", "/quit"])
def test_a_command_quits(desk: Desk, command: str) -> None:
    seat = desk.start().send(command)
    assert seat.term.wait() == 0


def test_leaving_while_a_command_runs_ends_the_command(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "echo $$ > pid; exec sleep 100"}))
    seat = desk.start().send("run")
    child = int(wait_for(desk.tau.project / "pid"))
    seat.press("ctrl+d")
    assert seat.term.wait() == 0
    assert not is_alive(child)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_leaves(desk: Desk, number: signal.Signals, code: int) -> None:
    desk.tau.script("First answer.", Silence(after_events=3), "Still here.")
    seat = desk.start().send("one")
    seat.see("First answer.")
    seat.send("two").see("These words")
    seat.write("my draft")
    os.kill(seat.pid, number)
    assert seat.term.wait() == code
    back = desk.start("-c")
    back.see("First answer.", "These words")


def test_after_kill_the_session_and_the_draft_are_there(desk: Desk) -> None:
    desk.tau.script("First answer.")
    shell = desk.run("bash", "--norc", "-i")
    line = " ".join([*TAU, *FAKE])
    shell.term.type(f"{line}\r")
    shell.see(WELCOME)
    shell.send("one").see("First answer.")
    shell.write("an unsent thought")
    drafts = desk.tau.home / "drafts"
    until(lambda: drafts.is_dir() and any("unsent thought" in text(one) for one in drafts.glob("*.json")))
    os.kill(int(subprocess.check_output(["pgrep", "-P", str(shell.pid)])), signal.SIGKILL)
    shell.see("Killed")
    shell.term.type(f"stty sane; clear; {line} -c\r")
    shell.see("Restored your draft from", "First answer.")
    shell.editor_is("an unsent thought")


def test_suspend_and_come_back(desk: Desk) -> None:
    desk.tau.script("Before.", "After.")
    shell = desk.run("bash", "--norc", "-i")
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
    assert desk.tau.said() == ["one", "kept words"]


def test_the_end_leaves_the_terminal_as_it_was_and_the_talk_in_its_history(desk: Desk) -> None:
    desk.tau.script("A last word.")
    shell = desk.run("bash", "--norc", "-i")
    shell.term.type("stty -a > before\r")
    shell.term.type(f"{' '.join([*TAU, *FAKE])}; stty -a > after; echo left-$?\r")
    shell.see(WELCOME)
    shell.send("hello").see("A last word.")
    shell.editor_is("")
    shell.press("ctrl+d").see("left-0")
    project = desk.tau.project
    assert (project / "before").read_text() == (project / "after").read_text()
    assert shell.told.count("A last word.") == 1
    modes = shell.term.terminal.modes
    assert not any(modes.get(mode) for mode in (1000, 1004, 1049, 2031))
    assert modes.get(25, True)
    shell.term.type("echo ok-$((1 + 1))\r")
    shell.see("ok-2")


def text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)
