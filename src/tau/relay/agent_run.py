"""Runs an agent CLI once: prompt in, output kept, time limited, the whole group ended."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.pipe import Pipe
from tau.base.run import Limits, LocalRunner, Process, capture, secret_environ
from tau.base.sizes import KIB
from tau.base.tasks import spawn

STDERR_BYTES = 64 * KIB
KILL_GRACE_S = 0.5
# Secrets of the channels: no agent gets them.
CHANNEL_VARIABLES = ("TWILIO_", "TAU_RELAY_", "TELEGRAM_")


class RunOutput(Struct, frozen=True, kw_only=True):
    stdout: str
    stderr: str
    exit: int | None
    timed_out: bool = False


def agent_runner(secret_names: Sequence[str] = ()) -> LocalRunner:
    """A runner whose children have the keys of model providers, but not those of channels."""
    hidden = {*secret_names}
    return LocalRunner(pass_env=[name for name in secret_environ() if _is_for_agents(name, hidden)])


def _is_for_agents(name: str, hidden: set[str]) -> bool:
    return name not in hidden and not name.startswith(CHANNEL_VARIABLES)


def inherited_by_agents(secret_names: Sequence[str]) -> Callable[[str], bool]:
    hidden = {*secret_names}
    return lambda name: _is_for_agents(name, hidden)


async def run_agent(
    runner: LocalRunner,
    argv: Sequence[str],
    stdin: bytes,
    *,
    cwd: Path,
    timeout_s: float,
    max_bytes: int,
    inherit: Callable[[str], bool],
) -> RunOutput:
    """Raises OSError if the program cannot be started. Cancelling it ends the whole process group."""
    read_fd, write_fd = os.pipe()
    try:
        limits = Limits(timeout=timeout_s, grace=KILL_GRACE_S)
        try:
            process = await runner.start(
                argv, cwd=cwd, stdin=stdin, stderr=write_fd, limits=limits, inherit=inherit
            )
        finally:
            os.close(write_fd)
        errors = bytearray()
        async with process, asyncio.TaskGroup() as group:
            spawn(group, collect_errors(read_fd, process, errors))
            read_fd = -1
            captured = await capture(process, max_bytes=max_bytes)
        ended = captured.exit
        return RunOutput(
            stdout=captured.output.decode("utf-8", "replace"),
            stderr=errors.decode("utf-8", "replace"),
            exit=ended.code,
            timed_out=ended.timed_out,
        )
    finally:
        if read_fd >= 0:
            os.close(read_fd)


async def collect_errors(fd: int, process: Process, kept: bytearray) -> None:
    """Keep the last part of stderr, until the process has exited and the pipe is silent; closes `fd`."""
    try:
        pipe = Pipe(fd)
        process.when_gone(lambda _: pipe.drain())
        while chunk := await pipe.read():
            kept += chunk
            del kept[:-STDERR_BYTES]
    finally:
        os.close(fd)
