"""What runs on a node of a Ray cluster: one attempt, its progress, and its files on the way back."""

import asyncio
import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.base.run import LocalRunner
from tau.base.sizes import MIB, format_bytes
from tau.base.version import VERSION
from tau.modes.batch.attempt import Attempt
from tau.modes.batch.executor import Lease, Progress, Requeue
from tau.modes.batch.run_folder import BatchResult
from tau.modes.batch.workspace import Workspaces

MAX_INLINE_BYTES = 16 * MIB
MAX_WAITING = 1_000  # reports that nobody has read; later ones replace them


class NodeJob(Struct, frozen=True):
    """One attempt, and what a node must know. It never has a key: nodes use their own."""

    version: str
    batch: str
    lease: Lease
    keep: str
    flags: list[str]
    instead: str = ""
    shared: str = ""


class NodeAnswer(Struct, frozen=True):
    """`files` is an archive of the attempt's files, or the name of one in the shared folder."""

    outcome: BatchResult | Requeue
    files: bytes | str = b""


class ProgressFeed:
    """An actor that hands on what attempts report, by lease."""

    def __init__(self) -> None:
        self._queues: dict[int, asyncio.Queue[Progress]] = {}

    def _queue(self, fence: int) -> asyncio.Queue[Progress]:
        return self._queues.setdefault(fence, asyncio.Queue())

    async def put(self, fence: int, progress: Progress) -> None:
        queue = self._queue(fence)
        if queue.qsize() >= MAX_WAITING:
            queue.get_nowait()
        queue.put_nowait(progress)

    async def take(self, fence: int) -> Progress:
        return await self._queue(fence).get()

    async def forget(self, fence: int) -> None:
        self._queues.pop(fence, None)


def run_attempt(job: NodeJob, feed: object) -> NodeAnswer:
    """The Ray task. A cancelled one raises KeyboardInterrupt here, which ends the agent."""
    node = os.uname().nodename
    if job.version != VERSION:
        error = f"The node {node} has tau {VERSION}, and the batch was started with {job.version}."
        return NodeAnswer(_failed(job, error))
    if shutil.which("git") is None and job.lease.task.repo:
        return NodeAnswer(_failed(job, f"git is not installed on the node {node}."))
    return asyncio.run(_run(job, feed, node))


async def _run(job: NodeJob, feed: Any, node: str) -> NodeAnswer:
    place = Path(tempfile.gettempdir()) / f"tau-batch-{os.getuid()}-{job.batch}"
    make_private(place)
    files = place / "tasks" / f"{job.lease.key}-{job.lease.fence}"
    runner = LocalRunner()

    def tell(progress: Progress) -> None:
        feed.put.remote(job.lease.fence, progress)

    try:
        attempt = Attempt(
            job.lease, files, Workspaces(place, runner), runner, tell, job.flags, job.keep, job.instead
        )
        outcome = await attempt.run()
        if isinstance(outcome, BatchResult):
            error = f"{node}: {outcome.error}" if outcome.status == "setup_failed" else outcome.error
            outcome = replace(outcome, worker=f"{node}:{os.getpid()}", error=error)
        return NodeAnswer(outcome, await asyncio.to_thread(_pack, files, job))
    finally:
        runner.close()
        await asyncio.to_thread(shutil.rmtree, files, ignore_errors=True)


def _pack(files: Path, job: NodeJob) -> bytes | str:
    """Raises TauError."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        archive.add(files, arcname=".")
    data = buffer.getvalue()
    if len(data) <= MAX_INLINE_BYTES:
        return data
    if not job.shared:
        raise TauError(
            f"The files of {job.lease.key} are larger than {format_bytes(MAX_INLINE_BYTES)};"
            " give a folder that all nodes share with --shared-dir."
        )
    name = f"{job.batch}-{job.lease.key}-{job.lease.fence}.tar.gz"
    write_atomic(Path(job.shared) / name, data)
    return name


def _failed(job: NodeJob, error: str) -> BatchResult:
    return BatchResult(id=job.lease.key, attempt=job.lease.attempt, status="setup_failed", error=error)


def unpack(files: bytes | str, shared: str, target: Path) -> None:
    """Put the files of an attempt into its folder here. Raises OSError and tarfile.TarError."""
    path = Path(shared) / files if isinstance(files, str) else None
    data = path.read_bytes() if path is not None else files
    make_private(target)
    with tarfile.open(fileobj=io.BytesIO(data if isinstance(data, bytes) else b""), mode="r:gz") as archive:
        archive.extractall(target, filter="data")
    if path is not None:
        path.unlink(missing_ok=True)
