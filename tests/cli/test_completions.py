"""The completion scripts, tried in the shells themselves where they are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tau.cli.completions import SHELLS, completion_script
from tau.cli.flags import FLAGS, SUBCOMMANDS


def complete_in_bash(tmp_path: Path, *words: str) -> list[str]:
    """What Tab offers after `words`, the last of which is being typed."""
    program = f"""
source "$1"
COMP_WORDS=(tau {" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words)}
_tau
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    (tmp_path / "tau.bash").write_text(completion_script("bash"))
    ran = subprocess.run(
        ["bash", "--norc", "-c", program, "bash", str(tmp_path / "tau.bash")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return sorted(ran.stdout.split("\n")[:-1]) if ran.stdout.strip() else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "my file.py").touch()
    (tmp_path / "src").mkdir()
    return tmp_path


def test_bash_offers_flags_commands_and_choices(folder: Path) -> None:
    assert complete_in_bash(folder, "--mod") == ["--mode", "--model"]
    assert complete_in_bash(folder, "-p", "--mode", "") == ["json", "text"]
    assert complete_in_bash(folder, "--mode", "=", "js") == ["json"]
    assert complete_in_bash(folder, "co") == ["completions", "config"]
    assert complete_in_bash(folder, "completions", "z") == ["zsh"]
    assert complete_in_bash(folder, "config", "re") == ["reset"]
    assert complete_in_bash(folder, "hello", "co") == []


def test_bash_offers_files_and_folders_where_they_belong(folder: Path) -> None:
    assert complete_in_bash(folder, "-p", "@no") == ["@notes.txt"]
    assert complete_in_bash(folder, "@m") == ["@my file.py"]
    assert complete_in_bash(folder, "--cwd", "") == ["src"]
    assert "notes.txt" in complete_in_bash(folder, "--config", "n")
    assert complete_in_bash(folder, "--model", "n") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_knows_every_flag_and_subcommand(shell: str) -> None:
    text = completion_script(shell)
    dashes = "-l " if shell == "fish" else "--"
    assert [flag.name for flag in FLAGS if f"{dashes}{flag.name}" not in text] == []
    assert [command.name for command in SUBCOMMANDS if command.name not in text] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_accepts_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "completion_script").write_text(completion_script(shell))
    ran = subprocess.run([shell, "-n", str(tmp_path / "completion_script")], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_fish_offers_choices(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "tau.fish").write_text(completion_script("fish"))
    program = f"source {tmp_path}/tau.fish; complete -C 'tau --mode '"
    ran = subprocess.run(["fish", "--no-config", "-c", program], capture_output=True, text=True)
    assert {line.split("\t")[0] for line in ran.stdout.splitlines()} == {"text", "json"}
