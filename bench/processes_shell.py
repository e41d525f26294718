"""Measures the session shell: the overhead of a `bash` call over its command and over `bash -c`."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from report import Row, milliseconds, times

from tau.agent.call_context import World
from tau.agent.output import ToolOutput
from tau.backends.shell.session import ShellSession
from tau.base.run import Limits, LocalRunner
from tau.coding.artifacts import TemporaryArtifacts
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.internal_urls.router import SchemeRouter
from tau.coding.tools.bash import Bash, BashParams

CALLS = 500
QUICK_CALLS = 100
FLOOD_BYTES = 200_000_000
QUICK_FLOOD_BYTES = 50_000_000
PROGRAM = "/bin/true"


class Call:
    """Only the ports that a `bash` call uses."""

    call_id = "call"
    ui = None

    def __init__(self, world: World) -> None:
        self.cwd, self.fs, self.run, self.artifacts = world.cwd, world.fs, world.run, world.artifacts
        self.urls = SchemeRouter()

    def update(self, partial: ToolOutput) -> None:
        """Ignore updates."""


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians."""
    return asyncio.run(_measure(QUICK_CALLS if quick else CALLS, QUICK_FLOOD_BYTES if quick else FLOOD_BYTES))


async def _measure(calls: int, flood_bytes: int) -> list[tuple[Row, float]]:
    runner = LocalRunner(shell="/bin/bash")
    artifacts = TemporaryArtifacts()
    try:
        with tempfile.TemporaryDirectory() as folder:
            cwd = Path(folder)
            world = World(cwd=cwd, fs=LocalFileSystem(), run=runner, artifacts=artifacts, ui=None)
            async with ShellSession(runner, cwd=cwd) as shell:
                return await _figures(Bash(shell=shell), shell, Call(world), calls, flood_bytes)
    finally:
        artifacts.close()
        runner.close()


async def _figures(
    tool: Bash, shell: ShellSession, ctx: Any, calls: int, flood_bytes: int
) -> list[tuple[Row, float]]:
    async def call(command: str, **more: Any) -> None:
        output = await tool.run(BashParams(command, **more), ctx)
        if output.is_error:
            raise AssertionError(output)

    first = await _timed(lambda: call(":"))
    builtin, program, fresh, bare, shell_c = [], [], [], [], []
    for _ in range(calls):  # alternately, so that noise affects all alike
        builtin.append(await _timed(lambda: call(":")))
        program.append(await _timed(lambda: call(PROGRAM)))
        fresh.append(await _timed(lambda: call(":", fresh=True)))
        bare.append(_spawned([PROGRAM]))
        shell_c.append(_spawned(["/bin/bash", "-c", PROGRAM]))
    started = time.perf_counter()
    await call(f"head -c {flood_bytes} /dev/zero")
    flood = flood_bytes / (time.perf_counter() - started) / 1e6
    over = median(program) - median(bare)
    return [
        (Row("bash_first_ms", "the first call, with the shell's start", None, milliseconds), first),
        (Row("bash_call_ms", "a call of `bash` with `:`", 5, milliseconds), median(builtin)),
        (Row("bash_over_ms", f"a call with `{PROGRAM}` over the bare program", 5, milliseconds), over),
        (
            Row("bash_ratio", f"... over `bash -c {PROGRAM}`", None, times),
            median(program) / median(shell_c),
        ),
        (Row("bash_fresh_ms", "a call with `:` in a fresh shell", None, milliseconds), median(fresh)),
        (
            Row("bash_stop_ms", "a command that is stopped, to its end", None, milliseconds),
            await _stopped(shell),
        ),
        (Row("bash_flood", "output taken", None, lambda value: f"{value:.0f} MB/s"), flood),
    ]


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


def _spawned(argv: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


async def _stopped(shell: ShellSession) -> float:
    found = []
    for _ in range(10):
        running = await shell.start("sleep 60", limits=Limits())
        await asyncio.sleep(0.02)
        started = time.perf_counter()
        async with running.process as process:
            await process.kill()
        found.append((time.perf_counter() - started) * 1000)
    return median(found)


if __name__ == "__main__":
    for row, value in measure(quick=False):
        target = "" if row.target is None else f"  (at most {row.form(row.target)})"
        print(f"{row.title}: {row.form(value)}{target}")
