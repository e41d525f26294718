"""The user's rc file: what a shell takes from it, and that it can never block a command."""

import os
import shutil
from pathlib import Path

import pytest

from tau.backends.shell import snapshot as snapshots
from tau.backends.shell.session import ShellSession
from tests.backends.shell.shell_rig import BASH, Done, done, in_session

RC = """
case $- in *i*) ;; *) return ;; esac
echo "noise on both channels"; echo noise >&2
greet() { echo "hello $1"; }
alias ll='ls -l'
alias rm='rm -i'
export PATH="$HOME/own/bin:$PATH"
export TOOL_HOME=/opt/tool MY_SECRET_KEY=abc PAGER=less
plain=not-exported
shopt -s extglob
set -o noclobber
PS1='prompt> '
"""


@pytest.fixture(autouse=True)
def login_shell() -> None:
    os.environ["SHELL"] = BASH


def write_rc(text: str, name: str = ".bashrc") -> Path:
    rc = Path(os.environ["HOME"]) / name
    rc.write_text(text)
    return rc


def runs(folder: Path, *commands: str, shell: str = BASH) -> list[Done]:
    """Each in its own session, like after a restart of tau."""

    async def body(session: ShellSession, command: str) -> Done:
        return await done(session, command)

    return [
        in_session(
            folder, lambda session, command=command: body(session, command), shell=shell, cache=cache(folder)
        )
        for command in commands
    ]


def cache(folder: Path) -> Path:
    return folder / "cache" / "shell"


def test_functions_aliases_options_and_paths_are_restored(tmp_path: Path) -> None:
    write_rc(RC)
    (found,) = runs(tmp_path, 'greet you; alias ll; echo "$TOOL_HOME"; shopt extglob; echo $PATH')
    lines = found.text.splitlines()
    assert lines[:3] == ["hello you", "alias ll='ls -l'", "/opt/tool"]
    assert lines[3].endswith("on")
    assert lines[4].startswith(f"{os.environ['HOME']}/own/bin:")
    assert not found.notes


def test_fresh_shell_has_them_too(tmp_path: Path) -> None:
    write_rc(RC)

    async def body(session: ShellSession) -> str:
        return (await done(session, "greet you; echo $PAGER", fresh=True)).text

    assert in_session(tmp_path, body, cache=cache(tmp_path)) == "hello you\ncat\n"


def test_secret_and_interactive_settings_are_not_captured(tmp_path: Path) -> None:
    write_rc(RC)
    (tmp_path / "file").touch()
    (found,) = runs(tmp_path, 'echo "-$MY_SECRET_KEY-$plain-$PS1-$PAGER-"; alias rm; rm file; ls file')
    assert found.text.startswith("-----cat-\n".replace("-----", "----"))
    assert not (tmp_path / "file").exists()
    (kept,) = cache(tmp_path).iterdir()
    assert "abc" not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_snapshot_is_made_once_and_again_when_the_file_changes(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    write_rc(f"echo x >>{ran}; word=1; say() {{ echo first; }}\n")
    assert [each.text for each in runs(tmp_path, "say", "say")] == ["first\n", "first\n"]
    assert ran.read_text() == "x\n"
    write_rc(f"echo x >>{ran}; say() {{ echo the second; }}\n")
    assert runs(tmp_path, "say")[0].text == "the second\n"
    assert ran.read_text() == "x\nx\n"
    assert len(list(cache(tmp_path).iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sleep 999", "it took longer than 0.5 s"),
        ("sleep 999 & exec sleep 998", "it took longer than 0.5 s"),
        ("exit 1", "it ended the shell"),
        ("kill -9 $$", "it ended the shell"),
        ("exec true", "it ended the shell"),
    ],
)
def test_failing_or_hanging_file_is_skipped_with_one_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    if text.startswith("sleep"):  # the others end soon enough even on a busy machine
        monkeypatch.setattr(snapshots, "TIME_LIMIT_S", 0.5)
    rc = write_rc(f"f() {{ :; }}\n{text}\n")
    first, second = runs(tmp_path, "echo on", "echo on")
    assert first.text == second.text == "on\n"
    assert first.notes == [f"{rc} was skipped: {reason}. Edit it to try again."]
    assert second.notes == []


@pytest.mark.parametrize("text", ["read -p 'Name? ' name; say() { echo $name.; }", "if then; say() { :; }"])
def test_interactive_or_broken_file_blocks_nothing(tmp_path: Path, text: str) -> None:
    write_rc(f"{text}\n")
    assert runs(tmp_path, "echo on")[0].text == "on\n"


def test_unwritable_cache_is_reported(tmp_path: Path) -> None:
    rc = write_rc("say() { echo x; }\n")
    (tmp_path / "cache").write_text("a file where a folder should be")
    (found,) = runs(tmp_path, "echo on")
    assert found.text == "on\n"
    assert found.notes[0].startswith(f"{rc} was skipped: {cache(tmp_path)}")


def test_without_a_file_or_a_cache_there_is_no_note(tmp_path: Path) -> None:
    (found,) = runs(tmp_path, "echo on")
    assert (found.text, found.notes) == ("on\n", [])
    write_rc("say() { echo x; }\n")

    async def body(session: ShellSession) -> int | None:
        return (await done(session, "say")).exit.code

    assert in_session(tmp_path, body) == 127


def test_current_environment_wins_over_the_snapshot(tmp_path: Path) -> None:
    write_rc(RC)
    runs(tmp_path, "true")
    os.environ["PATH"] = f"{tmp_path}/venv/bin:{os.environ['PATH']}"
    os.environ["TOOL_HOME"] = "/today"
    (found,) = runs(tmp_path, "echo $TOOL_HOME; echo $PATH")
    tool, path = found.text.split()
    assert tool == "/today"
    assert path.startswith(f"{os.environ['HOME']}/own/bin:{tmp_path}/venv/bin:")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_bash_of_a_zsh_user_finds_the_programs_of_zshrc(tmp_path: Path) -> None:
    os.environ["SHELL"] = shutil.which("zsh") or ""
    write_rc("path=(~/own/bin $path)\nexport TOOL_HOME=/opt/tool\ngreet() { echo hello $1 }\n", ".zshrc")
    write_rc("export TOOL_HOME=/opt/other\n")
    (found,) = runs(tmp_path, "echo $BASH_VERSION $TOOL_HOME; echo $PATH; greet you")
    shell, path, rest = found.text.splitlines()
    assert shell.endswith(" /opt/tool") and shell.startswith(("3", "4", "5", "6"))
    assert path.startswith(f"{os.environ['HOME']}/own/bin:")
    assert "greet: command not found" in rest
    assert not found.notes


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_has_its_own_file(tmp_path: Path) -> None:
    write_rc("greet() { echo hello $1 }\nalias say='echo said'\nsetopt extended_glob\n", ".zshrc")
    zsh = shutil.which("zsh")
    assert zsh is not None
    (found,) = runs(tmp_path, "greet you; say it; [[ -o extendedglob ]] && echo set", shell=zsh)
    assert found.text == "hello you\nsaid it\nset\n"
