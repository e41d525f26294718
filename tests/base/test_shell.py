"""Which shell runs shell text."""

import os
from pathlib import Path

import pytest

from tau.base.run import LocalRunner


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_users_own_shell_is_taken_if_it_is_bash_or_zsh(tmp_path: Path, name: str) -> None:
    os.environ["SHELL"] = str(program(tmp_path / name))
    assert LocalRunner().shell == str(tmp_path / name)


@pytest.mark.parametrize("users", ["/usr/bin/fish", "/nowhere/bash", "", None])
def test_bash_of_the_path_is_taken_else(tmp_path: Path, users: str | None) -> None:
    program(tmp_path / "second" / "bash")
    program(tmp_path / "third" / "bash")
    os.environ["PATH"] = os.pathsep.join(str(tmp_path / name) for name in ("first", "second", "third"))
    if users is None:
        os.environ.pop("SHELL", None)
    else:
        os.environ["SHELL"] = users
    runner = LocalRunner()
    assert runner.shell == str(tmp_path / "second" / "bash")
    os.environ["PATH"] = ""
    assert runner.shell == str(tmp_path / "second" / "bash")


def test_without_bash_it_is_sh(tmp_path: Path) -> None:
    os.environ["PATH"] = str(tmp_path)
    os.environ.pop("SHELL", None)
    assert LocalRunner().shell == "/bin/sh"


def test_given_shell_wins() -> None:
    assert LocalRunner(shell="/bin/dash").shell == "/bin/dash"
