"""The real program with each engine: what a model tries, and what it reads then."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.safety.sandbox_rig import ENGINES, GIT_ENV, require
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer
from tests.support.free_ports import free_port

PORT = free_port()  # one engine shares the machine's loopback
SERVE = f"python3 -m http.server {PORT} --bind 127.0.0.1 >/dev/null 2>&1 & echo serving"
CURL = (
    f"for i in $(seq 100); do curl -s http://127.0.0.1:{PORT}/page && break; "
    "[ $? = 7 ] || break; sleep 0.1; done"
)


@pytest.fixture
def tau(tmp_path: Path) -> Iterator[Program]:
    with FakeServer() as server:
        yield Program(server, tmp_path)


def results_of(tau: Program) -> list[str]:
    messages = tau.server.requests[-1].body["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize("engine", ENGINES)
def test_model_that_tries_to_get_out_reads_why_it_cannot(tau: Program, engine: str) -> None:
    require(engine)
    home = Path(os.environ["HOME"])
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text("PRIVATE KEY")
    tau.settings(**{"retry.enabled": False, "sandbox.engine": engine, "sandbox.mode": "required"})
    cell = {"language": "py", "code": f"print(open('{home}/.ssh/id_ed25519').read())"}
    tau.script(
        Call("bash", {"command": "cat ~/.ssh/id_ed25519"}),
        Call("bash", {"command": "echo x > ~/outside.txt"}),
        Call("bash", {"command": "curl -sS --max-time 3 http://192.0.2.1/"}),
        Call("eval", {"cells": [cell]}),
        "I could not.",
    )
    ran = tau.ask("Try to get out.")
    assert (ran.returncode, ran.stdout) == (0, "I could not.\n"), ran.stderr
    key, write, network, cell_result = results_of(tau)
    assert "PRIVATE KEY" not in key + cell_result
    assert f"[Sandbox: blocked read of {home}/.ssh/id_ed25519 (it is hidden)]" in key
    assert "Read-only file system" in write or "Permission denied" in write
    assert f"[Sandbox: blocked write to {home}/outside.txt]" in write
    assert "[Sandbox: blocked connection to 192.0.2.1:80" in network
    assert "Error" in cell_result
    assert not (home / "outside.txt").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_model_commits_serves_and_fetches(tau: Program, engine: str) -> None:
    require(engine)
    os.environ.update(GIT_ENV)
    tau.settings(**{"retry.enabled": False, "sandbox.engine": engine, "sandbox.mode": "required"})
    tau.script(
        Call("bash", {"command": "git init -q . && echo hello > page && git add . && git commit -qm one"}),
        Call("bash", {"command": "git log --format=%s"}),
        Call("bash", {"command": SERVE}),
        Call("bash", {"command": CURL}),
        "Done.",
    )
    ran = tau.ask("Commit, serve, fetch.")
    assert (ran.returncode, ran.stdout) == (0, "Done.\n"), ran.stderr
    committed, logged, serving, fetched = results_of(tau)
    assert "New Git repository" in committed
    assert "one" in logged and "serving" in serving and "hello" in fetched


def test_project_cannot_loosen_the_sandbox(tau: Program) -> None:
    require("auto")
    (tau.project / ".tau").mkdir()
    (tau.project / ".tau/settings.json").write_text('{"sandbox": {"mode": "off", "write": ["/"]}}')
    tau.script(Call("bash", {"command": "echo x > ~/outside.txt"}), "Tried.")
    ran = tau.ask("Write outside.")
    assert ran.returncode == 0
    assert "Read-only file system" in results_of(tau)[0] or "denied" in results_of(tau)[0]
    assert not (Path(os.environ["HOME"]) / "outside.txt").exists()


def test_sandbox_command(tau: Program) -> None:
    require("auto")
    ran = tau.run("sandbox", "run", "echo out; exit 5", cwd=tau.project)
    assert (ran.returncode, ran.stdout) == (5, "out\n")
    ran = tau.run("sandbox", "explain", str(tau.project), cwd=tau.project)
    assert "is writable: the workspace" in ran.stdout
    ran = tau.run("sandbox", "probe", "--json", cwd=tau.project)
    assert ran.returncode == 0 and '"bubblewrap"' in ran.stdout
    ran = tau.run("sandbox", "nothing", cwd=tau.project)
    assert ran.returncode == 2 and "Usage: tau sandbox" in ran.stderr


def test_a_required_sandbox_that_is_missing_refuses_without_a_question(tau: Program, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "git", "python3"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    tau.settings(**{"retry.enabled": False, "sandbox.engine": "bubblewrap", "sandbox.mode": "required"})
    cell = {"language": "py", "code": "print(1)"}
    tau.script(Call("bash", {"command": "echo ran"}), Call("eval", {"cells": [cell]}), "No.")
    ran = tau.ask("Go.", PATH=str(programs))
    assert ran.returncode == 0 and "commands are refused" in ran.stderr
    assert ["No command can run: bubblewrap" in text for text in results_of(tau)] == [True, True]
