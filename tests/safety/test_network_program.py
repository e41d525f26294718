"""`tau -p` in a real sandbox: the model reads what was blocked, and what is contained just works."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer

SERVE = "python3 -u -m http.server 8765 --bind 127.0.0.1 > log 2>&1 & "
SERVE += "until grep -q Serving log; do sleep 0.01; done"


@pytest.fixture
def tau(tmp_path: Path) -> Iterator[Program]:
    for program in ("bwrap", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with FakeServer() as server:
        yield Program(server, Path(os.path.realpath(tmp_path)))


def result(tau: Program, number: int) -> str:
    """The result of a call, as the model reads it in the request after it."""
    return str(tau.server.requests[number].body["messages"][-1]["content"])


@pytest.mark.parametrize("engine", ["bubblewrap", "namespaces"])
def test_a_blocked_connection_and_write_are_named_and_a_server_answers(tau: Program, engine: str) -> None:
    tau.settings(**{"retry.enabled": False, "sandbox.engine": engine, "sandbox.mode": "required"})
    (tau.project / "page").write_text("hello from inside")
    commands = ["curl -sS https://evil.example/", "touch ~/new", SERVE, "curl -sS http://127.0.0.1:8765/page"]
    tau.script(*(Call("bash", {"command": command}) for command in commands), "Done.")
    ran = tau.ask("Try it")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Done.\n", "")
    assert "[Sandbox: blocked connection to evil.example:443]" in result(tau, 1)
    assert f"[Sandbox: blocked write to {os.environ['HOME']}/new]" in result(tau, 2)
    assert result(tau, 4) == "hello from inside"
    assert not (Path(os.environ["HOME"]) / "new").exists()
