"""Commands that break the shell for what comes after them: nothing hangs, nothing shows."""

from pathlib import Path

import pytest

from tests.backends.shell.test_session import shell as shell
from tests.backends.shell.test_session import texts


def test_disabled_builtins_hang_nothing(tmp_path: Path, shell: str) -> None:
    disable = "disable" if shell.endswith("zsh") else "enable -n"
    commands = [
        f"{disable} {name}" for name in ("printf", "read", "pwd", "eval", "exec", "cd", "trap", "set")
    ]
    assert texts(tmp_path, *commands, "echo on", shell=shell) == ["", *[""] * 7, "on\n"]


def test_disabled_builtin_and_enable_functions_hang_nothing(tmp_path: Path) -> None:
    commands = ("enable -n builtin", "enable() { :; }; builtin enable -n printf builtin", "echo on")
    assert texts(tmp_path, *commands)[-1] == "on\n"


@pytest.mark.parametrize("how", ["set -o posix", "umask 777", "readonly IFS"])
def test_state_of_the_shell_does_not_show_in_the_output_of_later_commands(tmp_path: Path, how: str) -> None:
    commands = (how, "echo one", "trap 'echo bye' EXIT; echo two", "echo three")
    assert texts(tmp_path, *commands) == ["", "one\n", "two\nbye\n", "three\n"]
