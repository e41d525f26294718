"""The completion scripts, run in the real shells if installed."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tau
from tau.ai.faux import Faux, Say
from tau.base.errors import UsageError
from tau.cli.completions import SHELLS, completion_script
from tau.cli.flags import FLAGS, subcommands
from tau.cli.main import run


def with_tau() -> dict[str, str]:
    """The environment, with the program that the scripts run."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


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
        env=with_tau(),
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
    assert complete_in_bash(folder, "-p", "--mode", "") == ["acp", "json", "rpc", "rpc-ui", "text"]
    assert complete_in_bash(folder, "--mode", "=", "js") == ["json"]
    assert complete_in_bash(folder, "com") == ["commit", "completions"]
    assert complete_in_bash(folder, "completions", "z") == ["zsh"]
    assert complete_in_bash(folder, "config", "re") == ["reset"]
    assert complete_in_bash(folder, "hello", "co") == []


def test_bash_offers_files_and_folders_where_they_belong(folder: Path) -> None:
    assert complete_in_bash(folder, "-p", "@no") == ["@notes.txt"]
    assert complete_in_bash(folder, "@m") == ["@my file.py"]
    assert complete_in_bash(folder, "--cwd", "") == ["src"]
    assert "notes.txt" in complete_in_bash(folder, "--config", "n")
    assert complete_in_bash(folder, "--api-key", "n") == []
    assert complete_in_bash(folder, "read", "n") == ["notes.txt"]
    assert complete_in_bash(folder, "shell", "") == ["src"]


def test_bash_offers_the_options_of_a_subcommand(folder: Path) -> None:
    assert complete_in_bash(folder, "stats", "--h") == ["--help", "--html"]
    assert complete_in_bash(folder, "config", "list", "--") == ["--help", "--json"]
    assert complete_in_bash(folder, "help", "sta") == ["stats"]


@pytest.fixture
def values(folder: Path) -> Path:
    """A folder with a session, whose user has a host and a model with a colon in its name."""
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    provider = {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "models": [{"id": "tiny:1b"}]}
    (home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    (home / "ssh.json").write_text(json.dumps({"hosts": {"box": {"host": "box.example"}}}))

    async def talk() -> None:
        options = tau.SessionOptions(cwd=folder, stream=Faux([[Say("Hi.")]]).stream)
        async with tau.create_session(options) as session:
            await session.prompt("fix the parser")

    asyncio.run(talk())
    return folder


def test_bash_offers_settings_tools_models_providers_hosts_and_sessions(values: Path) -> None:
    assert complete_in_bash(values, "config", "get", "retry.en") == ["retry.enabled"]
    assert complete_in_bash(values, "--provider", "anth") == ["anthropic"]
    assert complete_in_bash(values, "--model", "fake/t") == ["fake/tiny:1b"]
    assert complete_in_bash(values, "--model", "fake/tiny", ":") == ["1b"]
    assert complete_in_bash(values, "--model", "fake/tiny", ":", "1") == ["1b"]
    assert complete_in_bash(values, "--tools", "fin") == ["find"]
    assert complete_in_bash(values, "--tools", "read,fin") == ["read,find"]
    assert complete_in_bash(values, "ssh", "test", "") == ["box"]
    [id] = complete_in_bash(values, "sessions", "show", "")
    assert len(id) >= 8
    assert id in complete_in_bash(values, "--resume", "")
    assert complete_in_bash(values, "--resume", "--pla") == ["--plain", "--plan"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_knows_every_flag_and_subcommand(shell: str) -> None:
    text = completion_script(shell)
    dashes = "-l " if shell == "fish" else "--"
    assert [flag.name for flag in FLAGS if f"{dashes}{flag.name}" not in text] == []
    assert [command.name for command in subcommands() if command.name not in text] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_accepts_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "completion_script").write_text(completion_script(shell))
    ran = subprocess.run([shell, "-n", str(tmp_path / "completion_script")], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def complete_in_fish(folder: Path, line: str) -> list[str]:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (folder / "tau.fish").write_text(completion_script("fish"))
    program = f"source {folder}/tau.fish; complete -C '{line}'"
    ran = subprocess.run(
        ["fish", "--no-config", "-c", program], cwd=folder, env=with_tau(), capture_output=True, text=True
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_fish_offers_choices(tmp_path: Path) -> None:
    offered = {row.split("\t")[0] for row in complete_in_fish(tmp_path, "tau --mode ")}
    assert offered == {"text", "json", "rpc", "rpc-ui", "acp"}


def test_fish_offers_values_and_what_they_are(values: Path) -> None:
    assert complete_in_fish(values, "tau --provider anth") == ["anthropic\tAnthropic"]
    assert complete_in_fish(values, "tau --tools read,fin") == ["read,find\tFind"]
    assert complete_in_fish(values, "tau ssh test ") == ["box\tbox.example"]
    assert [row.split("\t")[0] for row in complete_in_fish(values, "tau config set retry.en")] == [
        "retry.enabled"
    ]
    assert [row.split("\t")[1] for row in complete_in_fish(values, "tau sessions show ")] == [
        "fix the parser"
    ]


def test_zsh_offers_values_and_what_they_are(values: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (values / "tau.zsh").write_text(completion_script("zsh"))
    program = f"""
compdef() {{ :; }}
_describe() {{ print -rl -- "${{(@P)2}}"; }}
source {values}/tau.zsh
for line in "config get x" "ssh test x" "sessions show x"; do
    words=(tau ${{=line}}) CURRENT=4
    _tau | grep -e ^retry.enabled -e ^box -e parser$
done
program=tau; _tau_values models | grep tiny
"""
    ran = subprocess.run(
        ["zsh", "-f", "-c", program], cwd=values, env=with_tau(), capture_output=True, text=True
    )
    assert ran.stderr == ""
    setting, host, session, model = ran.stdout.splitlines()
    assert setting.startswith("retry.enabled:")
    assert host == "box:box.example"
    assert session.endswith(":fix the parser")
    assert model == "fake/tiny\\:1b:tiny\\:1b"


@pytest.mark.parametrize("shell", SHELLS)
def test_hostile_name_in_a_repository_does_not_run_when_tab_is_pressed(values: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    names = ("$(touch hacked)", "`touch hacked`", "a;touch hacked", "box2")
    models = [{"id": name} for name in names]
    provider = {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "models": models}
    path = Path(os.environ["TAU_HOME"]) / "models.json"
    path.write_text(json.dumps({"providers": {"fake": provider}}))
    press_tab = {
        "bash": "COMP_WORDS=(tau --model fake/) COMP_CWORD=2; _tau; printf '%s\\n' \"${COMPREPLY[@]}\"",
        "zsh": '_describe() { print -rl -- "${(@P)2}"; }; program=tau; _tau_values models | grep fake',
        "fish": "complete -C 'tau --model fake/'",
    }[shell]
    before = "compdef() { :; }" if shell == "zsh" else ""
    program = f"{before}\n{completion_script(shell)}\n{press_tab}"
    ran = subprocess.run([shell, "-c", program], cwd=values, env=with_tau(), capture_output=True, text=True)
    assert [line.split("\t")[0].split(":")[0] for line in ran.stdout.splitlines()] == ["fake/box2"]
    assert not (values / "hacked").exists()


def test_values_of_an_unknown_kind_are_refused() -> None:
    with pytest.raises(UsageError, match=r"settings\|tools\|models\|providers\|hosts\|sessions"):
        run(["completions", "values", "colors"])
