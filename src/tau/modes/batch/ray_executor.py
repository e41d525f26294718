"""Runs attempts on a Ray cluster, local or joined by its address."""

import asyncio
import hashlib
import os
import secrets
import socket
import tarfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.base.sizes import MIB
from tau.base.tasks import spawn
from tau.base.version import VERSION
from tau.modes.batch import ray_worker
from tau.modes.batch.executor import Lease, Progress, Requeue, set_aside
from tau.modes.batch.run_folder import BatchResult

ray = late("ray")
ray_errors = late("ray.exceptions")

PROBE_S = 10.0
MAX_LOSSES = 3  # workers lost at one task before it has failed
INSTALL = 'Ray is not installed; run: pip install "tau-agent[fleet]"'


class RayOptions(Struct, frozen=True):
    """`forward` names variables that every node gets; nothing else of the environment leaves this machine."""

    address: str | None = None
    shared: str = ""
    forward: tuple[str, ...] = ()


class RayExecutor:
    """Implements `Executor`. Connects when it is made, which takes seconds, and leaves with `close`."""

    def __init__(
        self,
        folder: Path,
        jobs: int | None,
        keep: str,
        flags: Sequence[str],
        options: RayOptions,
        instead: Callable[[str], str] = lambda key: "",
    ) -> None:
        self._folder = folder
        self._keep = keep
        self._flags = list(flags)
        self._options = options
        self._instead = instead
        self._batch = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        self._losses: dict[str, int] = {}
        _connect(options)
        try:
            self._feed: Any = ray.remote(ray_worker.ProgressFeed).options(num_cpus=0).remote()
            self._task = ray.remote(ray_worker.run_attempt)
            self._jobs = jobs or max(1, int(_resources().get("CPU", 1)))
        except BaseException:
            ray.shutdown()
            raise

    @property
    def capacity(self) -> int:
        return self._jobs

    async def run(self, lease: Lease, tell: Callable[[Progress], None]) -> BatchResult | Requeue:
        options = self._options
        job = ray_worker.NodeJob(
            VERSION, self._batch, lease, self._keep, self._flags, self._instead(lease.key), options.shared
        )
        needs = lease.task.resources
        place = {
            "num_cpus": needs.cpus,
            "memory": needs.memory_mb * MIB or None,
            "resources": needs.labels or None,
            "max_retries": 0,  # ours count
        }
        async with asyncio.TaskGroup() as group:
            reading = spawn(group, self._read(lease.fence, tell))
            reference = self._task.options(**place).remote(job, self._feed)
            try:
                return await self._answer(lease, reference)
            finally:
                reading.cancel()
                self._feed.forget.remote(lease.fence)

    async def close(self) -> None:
        await asyncio.to_thread(ray.shutdown)

    async def _read(self, fence: int, tell: Callable[[Progress], None]) -> None:
        with suppress(ray_errors.RayError):
            while True:
                tell(await self._feed.take.remote(fence))

    async def _answer(self, lease: Lease, reference: Any) -> BatchResult | Requeue:
        try:
            answer = await reference
        except asyncio.CancelledError:
            ray.cancel(reference, force=False)
            with suppress(ray_errors.RayError, TimeoutError):
                async with asyncio.timeout(5):
                    await reference
            raise
        except (ray_errors.RayTaskError, ray_errors.RaySystemError) as error:
            raise TauError(_cause(error)) from None
        except ray_errors.RayError as error:  # the worker or its node is gone
            self._losses[lease.key] = self._losses.get(lease.key, 0) + 1
            reason = f"Its worker is gone ({type(error).__name__})."
            if self._losses[lease.key] >= MAX_LOSSES:
                raise TauError(f"{reason} This was the {MAX_LOSSES}rd time.") from None
            return Requeue(reason, refused=False)
        if answer.files:
            target = self._folder / "tasks" / lease.key
            try:
                await asyncio.to_thread(self._unpack, answer.files, target, lease.fence)
            except (OSError, tarfile.TarError) as error:
                raise TauError(f"The files of the attempt cannot be written: {error}.") from None
        outcome: BatchResult | Requeue = answer.outcome
        return outcome

    def _unpack(self, files: bytes | str, target: Path, fence: int) -> None:
        if target.exists():
            set_aside(target, fence)
        ray_worker.unpack(files, self._options.shared, target)


def _connect(options: RayOptions) -> None:
    """Raises UsageError and TauError."""
    os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token"})
    if options.address is None:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    missing = [name for name in options.forward if name not in os.environ]
    if missing:
        raise UsageError(f"--forward-env: {missing[0]} is not set.")
    if options.address is not None:
        _probe(options.address)
    runtime: dict[str, Any] = {"env_vars": {name: os.environ[name] for name in options.forward}}
    local: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        ray.init(
            address=options.address or "local",
            runtime_env=runtime if options.forward else None,
            log_to_driver=False,
            configure_logging=False,
            **({} if options.address else local),
        )
    except ModuleNotFoundError as error:
        raise UsageError(INSTALL) from error
    except (ConnectionError, RuntimeError, ValueError, ray_errors.RayError) as error:
        where = f'the cluster at "{options.address}"' if options.address else "a local cluster"
        raise TauError(f"Ray cannot use {where}: {str(error).splitlines()[0]}") from None


def _probe(address: str) -> None:
    """Ray itself waits for minutes for a head that does not answer."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not port.isdigit():  # such as auto
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), PROBE_S).close()
    except (OSError, OverflowError) as error:
        raise TauError(f'No Ray cluster answers at "{address}": {error}.') from None


def _resources() -> dict[str, float]:
    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return found


def _cause(error: object) -> str:
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, ModuleNotFoundError) or "No module named 'tau'" in str(error):
        return f"A node of the cluster does not have tau {VERSION}; install tau-agent there."
    return str(cause) if isinstance(cause, TauError) else f"The attempt failed on its node: {cause}"
