"""Runs attempts on this machine, each in a separate process."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tau.base.run import LocalRunner
from tau.base.sizes import GIB, MIB
from tau.modes.batch.attempt import Attempt
from tau.modes.batch.executor import Lease, Progress, Requeue, set_aside
from tau.modes.batch.run_folder import BatchResult
from tau.modes.batch.workspace import Workspaces

MEMORY_A_JOB_BYTES = 256 * MIB
JOBS_A_CORE = 4  # an agent mostly waits for its model
MAX_AUTO_JOBS = 32


class LocalExecutor:
    """Implements `Executor`. `folder` is that of the batch; `instead` gives commands that replace agents."""

    def __init__(
        self,
        folder: Path,
        jobs: int,
        keep: str,
        flags: Sequence[str],
        instead: Callable[[str], str] = lambda key: "",
    ) -> None:
        self._folder = folder
        self._jobs = jobs
        self._keep = keep
        self._flags = flags
        self._instead = instead
        self._runner = LocalRunner()
        self._workspaces = Workspaces(folder, self._runner)

    @property
    def capacity(self) -> int:
        return self._jobs

    async def run(self, lease: Lease, tell: Callable[[Progress], None]) -> BatchResult | Requeue:
        files = self._folder / "tasks" / lease.key
        if files.exists():
            await asyncio.to_thread(set_aside, files, lease.fence)
        common = (self._workspaces, self._runner, tell, self._flags, self._keep, self._instead(lease.key))
        attempt = Attempt(lease, files, *common)
        return await attempt.run()

    async def close(self) -> None:
        self._runner.close()


def auto_jobs() -> int:
    """As many as cores and free memory allow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MAX_AUTO_JOBS, cores * JOBS_A_CORE, _free_memory() // MEMORY_A_JOB_BYTES))


def _free_memory() -> int:
    try:
        with Path("/proc/meminfo").open() as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 4 * GIB
