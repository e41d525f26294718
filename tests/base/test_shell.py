"""Which shell runs shell text."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tau.base.run import LocalRunner, capture


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    path.chmod(0o755)
    return path


def test_users_own_bash_is_used(tmp_path: Path) -> None:
    os.environ["SHELL"] = str(program(tmp_path / "bash"))
    assert LocalRunner().shell == str(tmp_path / "bash")


def test_without_bash_the_users_zsh_is_used(tmp_path: Path) -> None:
    os.environ["PATH"] = str(tmp_path / "bin")
    os.environ["SHELL"] = str(program(tmp_path / "zsh"))
    assert LocalRunner().shell == str(tmp_path / "zsh")


def test_command_of_a_zsh_user_runs_in_bash(tmp_path: Path) -> None:
    os.environ["SHELL"] = shutil.which("zsh") or "/bin/zsh"

    async def main() -> bytes:
        runner = LocalRunner()
        text = "words='a b'; set -- $words; list=(x y); echo $# ${list[1]} no-such-*"
        async with await runner.start(text, cwd=tmp_path) as process:
            done = await capture(process)
        runner.close()
        return done.output

    assert asyncio.run(main()) == b"2 y no-such-*\n"


@pytest.mark.parametrize("users", ["/bin/zsh", "/usr/bin/fish", "/nowhere/bash", "", None])
def test_otherwise_bash_from_the_path_is_used(tmp_path: Path, users: str | None) -> None:
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


def test_without_bash_sh_is_used(tmp_path: Path) -> None:
    os.environ["PATH"] = str(tmp_path)
    os.environ.pop("SHELL", None)
    assert LocalRunner().shell == "/bin/sh"


def test_given_shell_wins() -> None:
    assert LocalRunner(shell="/bin/dash").shell == "/bin/dash"
