"""Measures the ssh tool against a real sshd on loopback: the first call, a later call, the bare program."""

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from report import Row, milliseconds, times

from tau.agent.output import ToolOutput
from tau.backends.ssh.connections import Connections
from tau.base.run import LocalRunner
from tau.coding.artifacts import TemporaryArtifacts
from tau.coding.tools.ssh import Ssh, SshParams
from tests.backends.ssh.loopback import SSH, SSHD, Server, running_sshd

CALLS = 50
QUICK_CALLS = 10
FIRST_CALLS = 5


class Call:
    """Only the ports that an `ssh` call uses."""

    def __init__(self, artifacts: TemporaryArtifacts) -> None:
        self.artifacts = artifacts

    def update(self, partial: ToolOutput) -> None:
        """Ignore updates."""


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians. Empty if there is no sshd."""
    if SSHD is None or SSH is None:
        return []
    with running_sshd() as server, tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = f"{server.bin}:{os.environ['PATH']}"
        return asyncio.run(_measure(server, Path(folder), QUICK_CALLS if quick else CALLS))


async def _measure(server: Server, folder: Path, calls: int) -> list[tuple[Row, float]]:
    bare_ms = median([_bare_ms(server) for _ in range(FIRST_CALLS)])
    first_ms = median([(await _calls(server, folder / str(turn), 1))[0] for turn in range(FIRST_CALLS)])
    later_ms = median((await _calls(server, folder / "later", calls + 1))[1:])
    return [
        (Row("ssh_bare_ms", "`ssh host true`, a new connection", None, milliseconds), bare_ms),
        (Row("ssh_first_ms", "first call of `ssh`: connect, ask, run", None, milliseconds), first_ms),
        (Row("ssh_call_ms", "later call of `ssh`", None, milliseconds), later_ms),
        (Row("ssh_call_ratio", "... over `ssh host true`", 1.0, times), later_ms / bare_ms),
    ]


def _bare_ms(server: Server) -> float:
    started = time.perf_counter()
    words = ["-i", str(server.key), "-p", str(server.port), "127.0.0.1", "true"]
    subprocess.run([str(server.bin / "ssh"), *words], check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


async def _calls(server: Server, cache: Path, count: int) -> list[float]:
    runner, artifacts = LocalRunner(), TemporaryArtifacts()
    context: Any = Call(artifacts)
    taken_ms = []
    try:
        async with Connections(runner, cache=cache) as connections:
            tool = Ssh({"box": server.host()}, connections)
            for _ in range(count):
                started = time.perf_counter()
                await tool.run(SshParams(host="box", command="true"), context)
                taken_ms.append((time.perf_counter() - started) * 1000)
    finally:
        artifacts.close()
        runner.close()
    return taken_ms
