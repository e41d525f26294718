"""The sandbox starts while the model still writes the arguments of its first command, and not before."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tau.agent.event_bus import EventBus
from tau.agent.events import MessageUpdate
from tau.ai.stream_events import TextDelta, ToolCallStart
from tau.base.run import LocalRunner
from tau.coding.sandbox import LateSandbox
from tau.config.paths import Paths
from tau.config.settings import SandboxSettings


def with_sandbox(folder: Path, work: Callable[[EventBus, LateSandbox], Awaitable[None]]) -> None:
    async def main() -> None:
        runner, events = LocalRunner(), EventBus()
        try:
            async with LateSandbox((folder,), SandboxSettings(), Paths(folder / "home"), runner) as sandbox:
                events.watch(sandbox.on_event)
                await work(events, sandbox)
        finally:
            runner.close()

    asyncio.run(main())


def test_streamed_start_of_a_command_starts_it(tmp_path: Path) -> None:
    async def work(events: EventBus, sandbox: LateSandbox) -> None:
        for event in (TextDelta(0, "I will"), ToolCallStart(1, "call_1", "read")):
            events.emit(MessageUpdate(event))
            await asyncio.sleep(0)
        assert not sandbox.is_started
        events.emit(MessageUpdate(ToolCallStart(2, "call_2", "bash")))
        await asyncio.sleep(0)
        assert sandbox.is_started

    with_sandbox(tmp_path, work)


@pytest.mark.parametrize("tool", ["bash", "eval"])
def test_session_that_ends_meanwhile_leaves_nothing_running(tmp_path: Path, tool: str) -> None:
    async def work(events: EventBus, sandbox: LateSandbox) -> None:
        events.emit(MessageUpdate(ToolCallStart(0, "call_1", tool)))
        assert not sandbox.is_started  # conftest.py fails a test that leaves a process

    with_sandbox(tmp_path, work)


def test_modules_of_the_first_command_are_imported_meanwhile(tmp_path: Path) -> None:
    """In a separate process: here, other tests have imported all of it."""
    program = f"""
import asyncio, sys
from pathlib import Path
from tau.agent.event_bus import EventBus
from tau.agent.events import MessageUpdate
from tau.ai.stream_events import ToolCallStart
from tau.base.run import LocalRunner
from tau.coding.sandbox import LateSandbox
from tau.config.paths import Paths
from tau.config.settings import SandboxSettings

async def main(tool):
    runner, folder = LocalRunner(), Path({str(tmp_path)!r})
    async with LateSandbox((folder,), SandboxSettings(), Paths(folder / "home"), runner) as sandbox:
        sandbox.on_event(MessageUpdate(ToolCallStart(0, "call_1", tool)))
        await sandbox.prepare()
    runner.close()

for tool in ("eval", "bash"):
    asyncio.run(main(tool))
    print("tau.backends.shell.shell_process" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
