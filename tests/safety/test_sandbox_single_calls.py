"""Single calls of tools and `tau shell` have the sandbox and the permissions of a session."""

import asyncio
from pathlib import Path

import pytest

import tau
from tau.ai.wire import text_of
from tau.base.errors import ToolError
from tests.e2e.program import Program
from tests.safety.sandbox_rig import require
from tests.support.fake_server import FakeServer


@pytest.fixture
def project(tmp_path: Path) -> Path:
    require("auto")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("KEY=hidden\n")
    (tmp_path / "outside.txt").write_text("mine\n")
    return project


def test_command_of_a_single_call_cannot_write_outside(project: Path) -> None:
    command = "echo in > in.txt; echo out >> ../outside.txt"
    asyncio.run(tau.call_tool("bash", {"command": command}, project))
    assert (project / "in.txt").read_text() == "in\n"
    assert (project.parent / "outside.txt").read_text() == "mine\n"


def test_single_call_that_needs_approval_fails_unless_it_is_approved(project: Path) -> None:
    outside = project.parent / "outside.txt"
    arguments = {"path": str(outside), "content": "new\n"}
    with pytest.raises(ToolError, match="outside the workspace"):
        asyncio.run(tau.call_tool("write", arguments, project))
    assert outside.read_text() == "mine\n"
    asyncio.run(tau.call_tool("write", arguments, project, approved=True))
    assert outside.read_text() == "new\n"


@pytest.mark.parametrize("approved", [False, True])
def test_rules_of_the_user_hold_for_single_calls(project: Path, approved: bool) -> None:
    (project / ".tau").mkdir()
    (project / ".tau/settings.json").write_text('{"tools.deny": ["read: ./.env"]}')
    with pytest.raises(ToolError, match=r"tools\.deny forbids it"):
        asyncio.run(tau.call_tool("read", {"path": ".env"}, project, approved=approved))
    output = asyncio.run(tau.call_tool("bash", {"command": "cat .env"}, project, approved=approved))
    assert "hidden" not in text_of(output.content).splitlines()[0]


def test_tau_shell_cannot_write_outside(tmp_path: Path) -> None:
    require("auto")
    outside = tmp_path / "outside.txt"
    with FakeServer() as server:
        program = Program(server, tmp_path)
        program.run("shell", stdin=f"echo in > in.txt\necho out > {outside}\n")
        assert (program.project / "in.txt").read_text() == "in\n"
    assert not outside.exists()
