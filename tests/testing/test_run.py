"""`tau.testing`: what authors of extensions test with."""

import subprocess
import sys
from pathlib import Path

import pytest

from tau.ext import Deny, ExtensionAPI, ExtensionContext, ToolCallEvent
from tau.testing import Say, Use, run


def guarded(tau: ExtensionAPI) -> None:
    """Ask before each shell command."""

    @tau.on("tool_call")
    async def ask(event: ToolCallEvent, ctx: ExtensionContext) -> Deny | None:
        if event.name != "bash" or await ctx.ui.confirm("Run it?", event.arguments["command"]):
            return None
        return Deny("The user said no.")


def test_answers_of_the_user_are_scripted(tmp_path: Path) -> None:
    calls = [[Use("bash", command="echo one")], [Use("bash", command="echo two")], [Say("done")]]
    with run(guarded, calls, answers=[True, False], cwd=tmp_path) as tau:
        assert tau.prompt("go") == "done"
        assert tau.ui.asked == ["Run it?", "Run it?"]
        assert "one" in tau.tool_results[0]
        assert tau.tool_results[1] == "The user said no."


@pytest.mark.parametrize("kind", ["extension", "tool", "hook"])
def test_the_test_of_a_new_plugin_passes(kind: str, tmp_path: Path) -> None:
    new = [sys.executable, "-m", "tau", "plugin", "new", "demo", "--kind", kind]
    made = subprocess.run(new, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "demo"]
    tested = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout
