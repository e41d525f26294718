"""What a command line asks for: mode, folder, options."""

import os
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.launch import session_options
from tau.cli.parse import choose_mode, parse
from tau.cli.working_folder import is_home, resolve_working_folder


@pytest.mark.parametrize(
    ("argv", "at_terminal", "elsewhere"),
    (
        ([], "interactive", "print"),
        (["hello"], "interactive", "print"),
        (["-p", "hello"], "print", "print"),
        (["--mode", "text", "hello"], "print", "print"),
        (["--mode", "json", "hello"], "json", "json"),
        (["-p", "--mode", "json"], "json", "json"),
        (["--json"], "json-lines", "json-lines"),
        (["--plain"], "console", "console"),
    ),
    ids=str,
)
def test_mode_follows_the_flags_and_the_terminal(argv: list[str], at_terminal: str, elsewhere: str) -> None:
    assert choose_mode(parse(argv), is_interactive=True) == at_terminal
    assert choose_mode(parse(argv), is_interactive=False) == elsewhere


def test_dumb_terminal_gets_plain_lines() -> None:
    assert choose_mode(parse([]), is_interactive=True, dumb=True) == "console"


def test_flags_become_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    argv = (
        "--provider p --model m:low --thinking high --api-key k --base-url http://h -r abc --tools read,,bash"
    )
    argv += " --system-prompt s --append-system-prompt a --session-dir d --config x --config /y --yolo"
    made = session_options(parse(argv.split()), tmp_path)
    assert (made.cwd, made.provider, made.model, made.thinking) == (tmp_path, "p", "m:low", "high")
    assert (made.api_key, made.base_url, made.resume, made.tools) == (
        "k",
        "http://h",
        "abc",
        ("read", "bash"),
    )
    assert (made.system_prompt, made.append_system_prompt, made.session_dir) == ("s", "a", tmp_path / "d")
    assert made.config_files == (tmp_path / "x", Path("/y"))
    assert made.settings == {"tools.approvalMode": "yolo"}
    assert (made.save, made.continue_recent) == (True, False)


def test_unset_options_are_left_to_the_settings(tmp_path: Path) -> None:
    made = session_options(parse(["-p", "hi"]), tmp_path)
    assert (made.tools, made.settings, made.thinking, made.session_dir) == (None, {}, None, None)
    assert session_options(parse(["--no-tools", "--no-session"]), tmp_path).tools == ()
    assert not session_options(parse(["--no-session"]), tmp_path).save
    assert session_options(parse(["--approval-mode", "ask"]), tmp_path).settings == {
        "tools.approvalMode": "ask"
    }
    assert session_options(parse(["-c"]), tmp_path).continue_recent


def test_missing_working_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_working_folder(None) == tmp_path
    (tmp_path / "sub").mkdir()
    assert resolve_working_folder("sub") == tmp_path / "sub"
    with pytest.raises(UsageError, match="not found"):
        resolve_working_folder("missing")
    monkeypatch.chdir(tmp_path / "sub")
    (tmp_path / "sub").rmdir()
    with pytest.raises(UsageError, match="no longer exists"):
        resolve_working_folder(None)


def test_home_folder_is_recognized_under_every_name(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    (tmp_path / "link").symlink_to(home)
    assert is_home(home)
    assert is_home(tmp_path / "link")
    assert not is_home(tmp_path)
