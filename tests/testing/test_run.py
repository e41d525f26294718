"""`tau.testing`: what authors of extensions test with."""

import asyncio
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tau.agent.events import TurnEnd
from tau.ext import Deny, ExtensionAPI, ExtensionContext, ToolCallEvent
from tau.ext.plugins import scaffold
from tau.ext.plugins.manifest import check_manifest
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


def test_time_is_skipped_instead_of_slept(tmp_path: Path) -> None:
    seen: list[str] = []

    def extension(tau: ExtensionAPI) -> None:
        tau.every(60, lambda: seen.append("minute"))

        async def sleep() -> None:
            await asyncio.sleep(20)
            seen.append("slept")

        tau.task(sleep())

        @tau.on("turn_end")
        async def hang(event: TurnEnd, ctx: ExtensionContext) -> None:
            await asyncio.sleep(100)

    with run(extension, cwd=tmp_path) as tau:
        tau.skip(30)
        assert seen == ["slept"]
        tau.skip(100)
        assert seen == ["slept", "minute", "minute"]
        assert tau.faults == []
        tau.prompt("go")
        tau.skip(10)
        assert tau.faults == []
        tau.skip(25)
        assert tau.faults == ["turn_end: TimeoutError: it took longer than 30 s"]


@pytest.mark.parametrize(
    "kind",
    [
        "extension",
        "tool",
        "hook",
        "plugin",
        *(pytest.param(one, marks=pytest.mark.soak) for one in ("skill", "rule")),
    ],
)
def test_the_test_of_a_new_plugin_passes(kind: str, tmp_path: Path) -> None:
    new = [sys.executable, "-m", "tau", "plugin", "new", "demo", "--kind", kind]
    made = subprocess.run(new, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "demo"]
    tested = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize("kind", scaffold.FILES)
def test_new_plugin_of_each_kind_has_a_project_file_with_its_name_and_a_test(
    kind: str, tmp_path: Path
) -> None:
    scaffold.write("demo", kind, tmp_path)
    project = tomllib.loads((tmp_path / "demo" / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["version"]) == ("demo", "0.1.0")
    assert (tmp_path / "demo" / "test_demo.py").is_file()
    assert check_manifest(tmp_path / "demo") == []
