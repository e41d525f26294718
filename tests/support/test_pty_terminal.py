"""The pty helper behaves as other tests assume."""

import sys

import pytest

from tests.support.pty_terminal import run_in_terminal

ASK = """
import os, sys, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
sys.stdout.write("\\x1b]11;?\\x1b\\\\\\x1b[?2026$p\\x1b[c")
sys.stdout.flush()
answer = b""
while not answer.endswith(b"c"):
    answer += os.read(0, 100)
termios.tcsetattr(0, termios.TCSADRAIN, old)
print(repr(answer))
"""


def test_program_is_shown_typed_to_and_resized() -> None:
    with run_in_terminal(["sh"], {"PS1": "> "}, columns=40, rows=8) as terminal:
        terminal.wait_for(">")
        terminal.type("stty size\r")
        terminal.wait_for("8 40")
        terminal.resize(30, 6)
        terminal.type("stty size; exit 3\r")
        assert terminal.wait() == 3
        assert terminal.tape()[-1].endswith("6 30")


def test_program_has_the_pty_as_its_controlling_terminal() -> None:
    script = "trap 'echo interrupted; exit 5' INT; echo ready; read line"
    with run_in_terminal(["sh", "-c", script]) as terminal:
        terminal.wait_for("ready")
        terminal.press("ctrl+c")
        terminal.wait_for("interrupted")
        assert terminal.wait() == 5


def test_terminal_queries_are_answered() -> None:
    with run_in_terminal([sys.executable, "-c", ASK], columns=120) as terminal:
        assert terminal.wait() == 0
        rows = terminal.screen()
    assert rows[0] == repr(b"\x1b]11;rgb:1111/1111/1111\x1b\\\x1b[?2026;2$y\x1b[?62;4;22;52c")


SLOW = """
import os, time, tty
tty.setraw(0)
print("ready", flush=True)
time.sleep(0.3)
reads = [os.read(0, 100)]
for _ in range(2):
    time.sleep(0.3)
    reads.append(os.read(0, 100))
print(reads)
"""


def test_busy_program_reads_enter_apart_from_the_text_around_it() -> None:
    with run_in_terminal([sys.executable, "-c", SLOW]) as terminal:
        terminal.wait_for("ready")
        terminal.type("text")
        terminal.press("enter")
        terminal.type("more")
        terminal.wait_for(repr([b"text", b"\r", b"more"]))


def test_failed_wait_shows_the_screen() -> None:
    with (
        run_in_terminal(["echo", "something else"]) as terminal,
        pytest.raises(AssertionError, match=r"the program ended(.|\n)*something else"),
    ):
        terminal.wait_for("this")


def test_stuck_program_is_killed() -> None:
    with run_in_terminal(["sleep", "1000"]) as terminal:
        assert terminal.process.poll() is None
    assert terminal.process.returncode is not None
