"""`tau shell`: lines in, output out, persistent state."""

import subprocess
import sys
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.shell_command import parse

TAU = (sys.executable, "-m", "tau")


def shell(folder: Path, typed: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TAU, "shell", *words], input=typed, capture_output=True, text=True, cwd=folder)


def test_each_line_is_a_command_and_state_persists(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    ran = shell(tmp_path, "x=7; cd sub\n\necho $x $(basename $PWD)\nfalse\n")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("7 sub\n", "", 1)


def test_line_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    ran = shell(tmp_path, "sleep 100\necho on\n", "-t", "200")
    assert ran.stdout == "on\n" and ran.returncode == 0
    assert "Stopped after 200 ms" in ran.stderr


@pytest.mark.parametrize("words", (["-t", "x"], ["-t"], ["-C", "/nowhere/at/all"], ["--what"]))
def test_invalid_use_is_reported(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(words)
