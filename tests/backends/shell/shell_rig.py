"""Commands in a shell session, run to their end."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tau.backends.shell.session import ShellSession
from tau.base.run import Exit, Limits, LocalRunner
from tests.support.limits import HANG_S, growing

BASH = "/bin/bash"


@dataclass
class Done:
    output: bytes
    exit: Exit
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.output.decode()


async def done(session: ShellSession, command: str, **options: Any) -> Done:
    """Fails, rather than hangs, if the command is not answered."""
    async with asyncio.timeout(HANG_S):
        running = await session.start(command, **options)
        async with running.process as process:
            pieces = [chunk async for chunk in process.output()]
            exited = await process.wait()
        return Done(b"".join(pieces), exited, running.notes())


async def stopped(session: ShellSession, command: str, seconds: float) -> Done:
    """A command that writes something and is stopped by its time limit, which grows until it has written."""
    for limit_s in growing(seconds):
        found = await done(session, command, limits=Limits(timeout=limit_s))
        if found.text:
            break
    return found


@asynccontextmanager
async def session_in(folder: Path, *, shell: str = BASH, **options: Any) -> AsyncIterator[ShellSession]:
    runner = LocalRunner(shell=shell)
    try:
        async with ShellSession(runner, cwd=folder, **options) as session:
            yield session
    finally:
        runner.close()


def in_session(
    folder: Path, body: Callable[[ShellSession], Awaitable[Any]], *, shell: str = BASH, **options: Any
) -> Any:
    async def main() -> Any:
        async with session_in(folder, shell=shell, **options) as session:
            return await body(session)

    return asyncio.run(main())


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not count."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def ends(pid: int, seconds: float = HANG_S) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not is_alive(pid)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while not condition():  # noqa: ASYNC110 - files and processes do not notify
            await asyncio.sleep(0.005)


def numbers_in(file: Path, count: int) -> Callable[[], bool]:
    return lambda: file.exists() and file.read_text().count("\n") >= count
