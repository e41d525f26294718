"""The end of the program, and resuming the conversation."""

import os
import re
import signal

import pytest

from tests.e2e.interactive.launcher import OK, Launcher
from tests.e2e.program import FAKE, TAU


@pytest.fixture
def forks() -> None:
    """As users start it."""


def test_resume_command_is_shown_at_exit_and_works(launcher: Launcher) -> None:
    user = launcher.start().ask("hello", OK)
    assert user.leave() == 0
    shown = "\n".join(user.term.tape())
    found = re.search(r"^Resume with tau -r (\w{8,})$", shown, re.MULTILINE)
    assert found is not None, shown
    launcher.start("-r", found[1]).see("hello", OK)


def test_resume_without_an_id_opens_the_session_list(launcher: Launcher) -> None:
    launcher.start().ask("something old", OK).leave()
    user = launcher.start("-r", ready="Sessions")  # the list covers the status line
    user.see("something old")
    user.press("enter").see(OK)
    assert len(launcher.tau.sessions()) == 1


def test_resume_without_an_id_needs_one_without_a_terminal(launcher: Launcher) -> None:
    done = launcher.tau.run("-p", "-r")
    assert done.returncode == 2
    assert "use -r ID instead" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_while_the_transcript_is_open_restores_the_terminal(launcher: Launcher, number: int) -> None:
    user = launcher.start().ask("hello", OK)
    user.press("ctrl+o").see("Q close")
    assert user.term.terminal.alternate
    os.kill(user.pid, number)
    user.term.wait()
    terminal = user.term.terminal
    assert not terminal.alternate and terminal.cursor_visible
    assert terminal.keyboard.current == {False: 0, True: 0}
    assert OK in user.output


def test_suspended_transcript_shows_the_normal_screen_and_comes_back(launcher: Launcher) -> None:
    user = launcher.run("bash", "--norc", "-i")
    user.see("bash-")
    user.term.type(" ".join([*TAU, *FAKE]))
    user.press("enter").see("F1 all keys")
    user.ask("hello", OK)
    user.press("ctrl+o").see("Q close")
    user.press("ctrl+z").see("Stopped")
    assert not user.term.terminal.alternate
    user.term.type("fg")
    user.press("enter").see("Q close")
    user.press("escape").miss("Q close")
    assert user.output.count(OK) == 1
