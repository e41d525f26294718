"""The real program: what runs outside the sandbox was asked about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.safety.sandbox_rig import require
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer


@pytest.fixture
def tau(tmp_path: Path) -> Iterator[Program]:
    with FakeServer() as server:
        yield Program(server, tmp_path)


def results_of(tau: Program) -> list[str]:
    messages = tau.server.requests[-1].body["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def test_command_that_no_sandbox_contains_asks(tau: Program, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "touch"):
        (programs / name).symlink_to(f"/bin/{name}")
    tau.settings(**{"retry.enabled": False, "sandbox.engine": "bubblewrap"})
    tau.script(Call("bash", {"command": "touch made"}), "Tried.")
    ran = tau.ask("Go.", PATH=str(programs))
    assert "No sandbox works here" in ran.stderr
    assert "It runs without a sandbox." in results_of(tau)[0]
    assert not (tau.project / "made").exists()


def test_command_asks_if_the_user_runs_it_outside(tau: Program) -> None:
    require("auto")
    tau.settings(**{"retry.enabled": False, "sandbox.outside": ["touch *"]})
    (tau.project / "sub").mkdir()
    tau.script(
        Call("bash", {"command": "touch a"}),
        Call("bash", {"command": "touch b", "cwd": "sub"}),
        Call("bash", {"command": "cd sub && touch c"}),
        Call("bash", {"command": "touch d", "cwd": "sub", "async": True}),
        Call("bash", {"command": "cd sub"}),
        Call("bash", {"command": "touch e"}),
        "Tried.",
    )
    tau.ask("Go.")
    assert [("without a sandbox" in text) for text in results_of(tau)] == [True] * 4 + [False, True]
    assert not any((tau.project / name).exists() for name in ("a", "sub/b", "sub/c", "sub/d", "sub/e"))


def test_user_who_turned_the_sandbox_off_is_not_asked(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "sandbox.mode": "off"})
    tau.script(Call("bash", {"command": "touch made"}), "Done.")
    tau.ask("Go.")
    assert (tau.project / "made").exists()
