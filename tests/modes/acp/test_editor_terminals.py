"""Commands in terminals of an editor that answers late, wrongly or never."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from acp import schema as a
from acp.interfaces import Client

from tau.base.errors import ToolError
from tau.base.run import Exit, Limits, LocalRunner
from tau.modes.acp import editor_files, editor_terminals
from tau.modes.acp.editor_terminals import EditorRunner
from tests.support.limits import HANG_S


class SlowClient:
    """Never answers requests of the kind `hangs`; opens a terminal once `opens` is set."""

    def __init__(self, hangs: str = "") -> None:
        self.hangs = hangs
        self.asked: list[str] = []
        self.seen = asyncio.Event()
        self.opens = asyncio.Event()
        self.released = asyncio.Event()
        self.leaves = asyncio.Event()
        self.signal: str | None = None

    async def create_terminal(self, *_: Any, **__: Any) -> a.CreateTerminalResponse:
        await self._meet("create")
        await self.opens.wait()
        return a.CreateTerminalResponse(terminal_id="t")

    async def terminal_output(self, *_: Any, **__: Any) -> a.TerminalOutputResponse:
        await self._meet("output")
        ended = None if self.signal is None else a.TerminalExitStatus(signal=self.signal)
        return a.TerminalOutputResponse(output="x", truncated=False, exit_status=ended)

    async def kill_terminal(self, *_: Any, **__: Any) -> None:
        await self._meet("kill")

    async def release_terminal(self, *_: Any, **__: Any) -> None:
        self.released.set()
        await self._meet("release")

    async def _meet(self, kind: str) -> None:
        self.asked.append(kind)
        self.seen.set()
        if kind == self.hangs:
            await self.leaves.wait()
            raise ConnectionError


async def run(client: SlowClient, tasks: asyncio.TaskGroup, timeout_s: float | None = None) -> Exit:
    runner = EditorRunner(LocalRunner(), cast("Client", client), lambda: "s", lambda *_: None, tasks)
    started = await runner.start("make", cwd=Path("/"), limits=Limits(timeout=timeout_s))
    async with started as process:
        async for _ in process.output():
            pass
        return await process.wait()


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor_files, "TIMEOUT_S", 0.05)
    monkeypatch.setattr(editor_terminals, "STOP_S", 0.05, raising=False)


def test_command_that_starts_after_the_turn_was_stopped_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor_files, "TIMEOUT_S", HANG_S)

    async def work() -> list[str]:
        client = SlowClient()
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run(client, tasks))
            await client.seen.wait()
            task.cancel()
            await asyncio.wait((task,))
            assert task.cancelled()
            client.opens.set()
            await client.released.wait()
        return client.asked

    assert asyncio.run(work()) == ["create", "kill", "release"]


def test_command_that_starts_at_the_moment_of_the_stop_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor_files, "TIMEOUT_S", HANG_S)

    async def work() -> list[str]:
        client = SlowClient()
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run(client, tasks))
            await client.seen.wait()
            client.opens.set()
            await asyncio.sleep(0)  # the editor has answered, and the call has not seen it yet
            task.cancel()
            await client.released.wait()
        assert task.cancelled()
        return client.asked

    assert asyncio.run(work()) == ["create", "kill", "release"]


@pytest.mark.parametrize("hangs", ["create", "output"])
def test_editor_that_does_not_answer_fails_the_command(hangs: str) -> None:
    async def work() -> None:
        client = SlowClient(hangs)
        client.opens.set()
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            with pytest.raises(ToolError, match="not answer"):
                await run(client, tasks)
            client.leaves.set()

    asyncio.run(work())


@pytest.mark.parametrize("hangs", ["kill", "release"])
def test_time_limit_holds_if_the_editor_does_not_end_the_command(hangs: str) -> None:
    async def work() -> Exit:
        client = SlowClient(hangs)
        client.opens.set()
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            return await run(client, tasks, timeout_s=0.01)

    assert asyncio.run(work()).timed_out


def test_absurd_signal_is_taken_for_a_kill() -> None:
    async def work() -> Exit:
        client = SlowClient()
        client.opens.set()
        client.signal = "9" * 5000
        async with asyncio.TaskGroup() as tasks:
            return await run(client, tasks)

    assert asyncio.run(work()).signal == 9
