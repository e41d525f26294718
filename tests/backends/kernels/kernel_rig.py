"""A pool of real kernels for a test, and cells run in it."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tau.backends.kernels import cells
from tau.backends.kernels.cells import Cell, CellEnd, CellHost, KernelLanguage, NoHost
from tau.backends.kernels.pool import KernelLimits, Kernels
from tau.base.run import LocalRunner

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
NEVER = 20.0  # seconds: only a guard, no test waits for it


@dataclass
class Ran:
    """The outcome of a cell."""

    end: CellEnd
    text: str
    events: list[cells.CellEvent] = field(default_factory=list)

    @property
    def last(self) -> str:
        return self.text.strip().splitlines()[-1]


@dataclass
class World:
    kernels: Kernels
    cwd: Path
    language: KernelLanguage = "python"
    host: CellHost = field(default_factory=NoHost)
    seen: Callable[[cells.CellEvent], None] = lambda event: None

    async def run(self, code: str, *, session: str = "main", **more: Any) -> Ran:
        text = bytearray()
        events: list[cells.CellEvent] = []

        def listen(event: cells.CellEvent) -> None:
            self.seen(event)
            if isinstance(event, cells.TextOutput):
                text.extend(event.data)
            else:
                events.append(event)

        cell = Cell(language=self.language, code=code, **{"timeout_s": NEVER, **more})
        end = await self.kernels.run(cell, listen, self.host, cwd=self.cwd, session=session)
        return Ran(end, text.decode(), events)


@asynccontextmanager
async def world(cwd: Path, language: KernelLanguage = "python", **more: Any) -> AsyncIterator[World]:
    runner = LocalRunner()
    given = {"python": sys.executable, **more}
    host = given.pop("host", NoHost())
    try:
        async with Kernels(runner, **given) as kernels:
            yield World(kernels, cwd, language, host)
    finally:
        runner.close()


def in_world(
    cwd: Path, work: Callable[[World], Awaitable[None]], language: KernelLanguage = "python", **more: Any
) -> None:
    """Run `work` with its own pool."""

    async def main() -> None:
        async with world(cwd, language, **more) as made:
            await work(made)

    asyncio.run(main())


def run_cells(cwd: Path, *codes: str, language: KernelLanguage = "python", **more: Any) -> list[Ran]:
    """Cells one after the other in one kernel."""
    ran: list[Ran] = []

    async def work(made: World) -> None:
        for code in codes:
            ran.append(await made.run(code, **more))

    in_world(cwd, work, language)
    return ran


def quick_limits(**more: Any) -> KernelLimits:
    return KernelLimits(**{"heartbeat_s": 0.05, **more})


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(NEVER):
        while not condition():  # noqa: ASYNC110 - nobody notifies
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
