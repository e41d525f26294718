"""`tau ssh` as a user sees it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.errors import ToolError, UsageError
from tau.cli import main
from tau.cli.ssh_command import run
from tau.config.paths import user_paths
from tests.backends.ssh.loopback import Server, running_sshd
from tests.support.limits import HANG_S

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the commands run."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".tau").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def sshd() -> Iterator[Server]:
    with running_sshd() as server:
        yield server


def users_file() -> Path:
    return user_paths().home / "ssh.json"


def test_add_list_and_remove_a_host(capfd: Capture) -> None:
    assert run(["list"]) == 0
    assert capfd.readouterr().out == "No hosts; add one with tau ssh add NAME [USER@]HOST.\n"
    words = ["--port", "2222", "--key=~/.ssh/shop", "--desc", "The shop", "--no-compat"]
    assert run(["add", "shop", "deploy@10.0.0.5", *words]) == 0
    assert capfd.readouterr().out == f"Added host shop to {users_file()}.\n"
    assert json.loads(users_file().read_text()) == {
        "hosts": {
            "shop": {
                "host": "10.0.0.5",
                "username": "deploy",
                "port": 2222,
                "keyPath": "~/.ssh/shop",
                "description": "The shop",
                "compat": False,
            }
        }
    }
    assert run([]) == 0
    head, row = capfd.readouterr().out.splitlines()
    assert head.split() == ["host", "target", "system", "from", "description"]
    assert row.split(maxsplit=4) == ["shop", "deploy@10.0.0.5:2222", "-", str(users_file()), "The shop"]
    assert run(["list", "--json"]) == 0
    (listed,) = json.loads(capfd.readouterr().out)
    assert (listed["name"], listed["port"], listed["own"], listed["os"]) == ("shop", 2222, True, None)
    assert run(["remove", "shop"]) == 0
    assert capfd.readouterr().out == f"Removed host shop from {users_file()}.\n"
    with pytest.raises(UsageError, match='No host "shop"'):
        run(["remove", "shop"])


def test_project_host_is_written_to_its_file(project: Path, capfd: Capture) -> None:
    run(["add", "box", "--host", "h", "--user", "me", "--compat", "--scope", "project"])
    path = project / ".tau" / "ssh.json"
    assert json.loads(path.read_text())["hosts"] == {"box": {"host": "h", "username": "me", "compat": True}}
    run(["add", "box", "mine"])
    out, err = capfd.readouterr()
    assert "already defines it" in err
    run(["remove", "box", "--scope", "project"])
    run(["remove", "box"])
    assert capfd.readouterr().out.splitlines()[-1].endswith(f"{users_file()}.")
    assert out.endswith(f"Added host box to {users_file()}.\n")


def test_key_a_project_may_not_use_is_reported_on_add(capfd: Capture) -> None:
    run(["add", "box", "h", "--key", "/etc/key", "--scope", "project"])
    err = capfd.readouterr().err
    assert "outside the project" in err and "box cannot be used yet." in err


def test_host_of_another_file_is_reported_but_not_removed(project: Path) -> None:
    (project / "ssh.json").write_text('{"hosts": {"box": {"host": "h"}}}')
    with pytest.raises(UsageError, match=r"is defined in .*ssh\.json; remove it there"):
        run(["remove", "box"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frobnicate"], "use one of list, add, remove, test"),
        (["add"], "Usage: tau ssh add NAME [USER@]HOST."),
        (["add", "box"], "Usage: tau ssh add NAME [USER@]HOST."),
        (["add", "box", "h", "--host", "h"], "Usage: tau ssh add NAME [USER@]HOST."),
        (["add", "box", "h", "--port", "x"], "port must be a whole number"),
        (["add", "box", "h", "--compat", "--no-compat"], "cannot be used together"),
        (["add", "box", "h", "--scope", "world"], '--scope cannot be "world"; use one of user, project.'),
        (["add", "a b", "h"], 'Host "a b" cannot be added'),
        (["add", "box", "h", "--port"], "--port needs a value: --port NUMBER."),
        (["list", "x"], "Usage: tau ssh list [--json]."),
        (["list", "--port", "3"], "tau ssh list takes no --port."),
        (["list", "--yaml"], 'Unknown flag "--yaml"'),
        (["test", "nobody"], "none are defined"),
        (["remove"], "Usage: tau ssh remove NAME."),
    ],
)
def test_invalid_use_is_one_clear_line(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(words)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not users_file().exists()


def test_help_names_every_action(capfd: Capture) -> None:
    for option in ("--help", "-h"):
        assert main.run(["ssh", option]) == 0
        out = capfd.readouterr().out
        assert all(f"tau ssh {action}" in out for action in ("list", "add", "remove", "test"))


def test_test_connects_and_describes_the_host(
    sshd: Server, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.setenv("PATH", f"{sshd.bin}:{os.environ['PATH']}")
    users_file().parent.mkdir(parents=True)
    users_file().write_text(json.dumps({"hosts": {"box": sshd.entry()}}))
    assert run(["test", "box"]) == 0
    assert capfd.readouterr().out.startswith(f"box ({sshd.host().target}) answers: ")
    assert run(["test", "box", "--json"]) == 0
    reported = json.loads(capfd.readouterr().out)
    assert reported["shell"] and reported["ms"] > 0
    run(["list", "--json"])
    assert json.loads(capfd.readouterr().out)[0]["os"] == reported["os"]
    run(["add", "gone", "127.0.0.1", "--port", "1"])
    with pytest.raises(ToolError, match="Connection refused"):
        run(["test", "gone"])


def test_list_does_not_load_asyncio() -> None:
    code = "import sys; from tau.cli.ssh_command import run; run(['add', 'a', 'h']); run(['list'])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('asyncio' in sys.modules)"],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=HANG_S,
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr
