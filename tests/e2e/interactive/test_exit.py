"""The end of the program, and resuming the conversation."""

import re

from tests.e2e.interactive.launcher import OK, Launcher


def test_resume_command_is_shown_at_exit_and_works(launcher: Launcher) -> None:
    user = launcher.start().ask("hello", OK)
    assert user.leave() == 0
    shown = "\n".join(user.term.tape())
    found = re.search(r"^Resume with tau -r (\w{8,})$", shown, re.MULTILINE)
    assert found is not None, shown
    launcher.start("-r", found[1]).see("hello", OK)


def test_resume_without_an_id_opens_the_session_list(launcher: Launcher) -> None:
    launcher.start().ask("something old", OK).leave()
    user = launcher.start("-r")
    user.see("Sessions", "something old")
    user.press("enter").see(OK)
    assert len(launcher.tau.sessions()) == 1


def test_resume_without_an_id_needs_one_without_a_terminal(launcher: Launcher) -> None:
    done = launcher.tau.run("-p", "-r")
    assert done.returncode == 2
    assert "use -r ID instead" in done.stderr
