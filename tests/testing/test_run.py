"""`tau.testing`: what authors of extensions test with."""

import asyncio
import subprocess
import sys
from pathlib import Path

from tau.agent.events import TurnEnd
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


KINDS = ("extension", "tool", "hook", "plugin")


def test_the_tests_of_new_plugins_pass(tmp_path: Path) -> None:
    for kind in KINDS:
        new = [sys.executable, "-m", "tau", "plugin", "new", f"demo-{kind}", "--kind", kind]
        made = subprocess.run(new, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    tested = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout
    assert f"{len(KINDS)} passed" in tested.stdout
