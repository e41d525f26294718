"""The entry point: quick answers, and every ending as an exit code and at most one line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tau.base.errors import ConfigError, ProviderError, SessionError, TauError, UsageError
from tau.base.version import VERSION
from tau.cli import failure
from tau.cli import launch as launch_module
from tau.cli.main import NO_ID, main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tau(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Callable[..., tuple[int, str, str]]:
    """Runs the entry point in this process; returns exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tau", *arguments])
        code = main()
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("flags", (["--version"], ["-v"], ["--version", "-p"]))
def test_version(tau: Callable[..., tuple[int, str, str]], flags: list[str]) -> None:
    assert tau(*flags) == (0, f"tau {VERSION}\n", "")


def test_help_and_completions_go_to_stdout(tau: Callable[..., tuple[int, str, str]]) -> None:
    for arguments, words in ((["-h"], "usage: tau"), (["completions", "bash"], "complete -F _tau tau")):
        code, out, err = tau(*arguments)
        assert (code, err) == (0, "")
        assert words in out


def test_wrong_flags_and_shells_are_reported_in_one_line(tau: Callable[..., tuple[int, str, str]]) -> None:
    assert tau("--modle") == (2, "", 'tau: Unknown flag "--modle". Did you mean --model?\n')
    assert tau("-p", "-r")[::2] == (2, f"tau: {NO_ID}\n")
    assert tau("completions") == (2, "", "tau: Name the shell: tau completions bash|zsh|fish.\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    (
        (UsageError("no such thing"), 2, "tau: no such thing"),
        (TauError("it failed"), 1, "tau: it failed"),
        (SessionError("no session"), 1, "tau: no session"),
        (
            ConfigError("not JSON", path=Path("/a/settings.json"), line=3),
            1,
            "tau: /a/settings.json:3: not JSON",
        ),
        (ProviderError("busy", retryable=True), 75, "tau: busy"),
        (ExceptionGroup("tasks", [TauError("inside")]), 1, "tau: inside"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
        (TauError("\x1b[2Jsneaky"), 1, "tau: sneaky"),
    ),
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_error_is_one_line_and_an_exit_code(
    tau: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    line: str,
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(launch_module, "launch", fail)
    monkeypatch.setattr(failure, "silence", lambda stream: None)
    assert tau("-p", "hi") == (code, "", f"{line}\n" if line else "")


@pytest.mark.parametrize("debug", ("", "1"))
def test_traceback_of_a_user_error_is_logged_only_on_request(
    tau: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    def fail(*_: object) -> int:
        raise UsageError("no such thing")

    monkeypatch.setenv("TAU_DEBUG", debug)
    monkeypatch.setattr(launch_module, "launch", fail)
    tau("-p", "hi")
    log = Path(os.environ["TAU_HOME"]) / "logs" / "tau.log"
    assert log.exists() == bool(debug)
    if debug:
        assert "Traceback" in log.read_text()


@pytest.mark.parametrize(
    ("flags", "stdout", "code", "line"),
    (
        ("--help", "> >(true)", 0, ""),
        ("--version", ">&-", 2, "tau: stdout is closed.\n"),
        ("--version", "> /dev/full", 1, "tau: Cannot write output: No space left on device.\n"),
        ("--modle", "2>&-", 2, ""),
        ("--modle", "2> /dev/full", 2, ""),
    ),
)
def test_unwritable_output_shows_no_traceback(flags: str, stdout: str, code: int, line: str) -> None:
    if "/dev/full" in stdout and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this system")
    command = f"{sys.executable} -m tau {flags} {stdout}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (code, line)
