"""What starts attempts: on this machine, or elsewhere."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from tau.modes.batch.run_folder import BatchResult, TaskUsage
from tau.modes.batch.task import BatchTask


class Lease(Struct, frozen=True):
    """One attempt at a task. The fence tells its result from those of earlier attempts."""

    key: str
    task: BatchTask
    attempt: int
    fence: int


class Progress(Struct, frozen=True):
    """What an attempt does now and has used so far. `refused_for_s`: the provider refuses requests."""

    activity: str = ""
    usage: dict[str, TaskUsage] = {}
    refused_for_s: float | None = None


class Requeue(Struct, frozen=True):
    """The attempt did not happen: the provider refuses, or its worker is gone."""

    reason: str
    retry_after_s: float | None = None  # None: nothing is known, or it is not about the provider
    refused: bool = True
    cost: float = 0.0


class Executor(Protocol):
    """Runs attempts. Cancelling `run` stops the attempt with all of its processes."""

    @property
    def capacity(self) -> int:
        """How many attempts can run at once now."""
        ...

    async def run(self, lease: Lease, tell: Callable[[Progress], None]) -> BatchResult | Requeue: ...
    async def close(self) -> None: ...


def set_aside(files: Path, fence: int) -> None:
    """The files of an earlier attempt; what was requeued leaves none."""
    shutil.move(files, files.with_name(f"{files.name}.before-{fence}"))
    files.mkdir(parents=True)
    shutil.move(files.with_name(f"{files.name}.before-{fence}"), files / f"before-{fence}")
