"""Processes that end together: all that one session started, even if detached.

They are found by a variable in their environment, also after `setsid`, `nohup` or a double fork. That needs
/proc; elsewhere only a process group can be ended.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tau.base.orphan_guard import OrphanGuard
from tau.base.pipe import Sinks
from tau.base.run import FAMILY_ID

_START_TIME = 19  # index of the start time in /proc/PID/stat, counted after the name
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
GRACE_S = 1.0
STUCK_S = 2.0
POLL_S = 0.005


def can_find_marked() -> bool:
    return Path("/proc/self/environ").exists()


def find_marked(name: str, value: str, *, since: float | None = None) -> list[int]:
    """Return other live processes that were started with this variable.

    With `since` (a `time.monotonic` value), only those started then or later.
    """
    mark = f"\0{name}={value}\0".encode()
    first_tick = None if since is None else _ticks(since)
    pids = []
    with suppress(OSError):
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError):
                if mark not in b"\0" + _content(f"{entry.path}/environ"):
                    continue
                fields = _content(f"{entry.path}/stat").rpartition(b")")[2].split()
                if fields[0] in b"ZX" or (first_tick is not None and int(fields[_START_TIME]) < first_tick):
                    continue
                pids.append(int(entry.name))
    own = os.getpid()
    return [pid for pid in pids if pid != own]


def send_signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def group_has_processes(group: int, *, signal_group: Callable[[int], bool]) -> bool:
    """Whether a process group has members other than zombies."""
    if not signal_group(0):
        return False
    try:
        processes = [entry.path for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return True  # without /proc, assume so
    for path in processes:
        with suppress(OSError, ValueError):
            state, _, its_group = _content(f"{path}/stat").rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state not in b"ZX":
                return True
    return False


def _ticks(moment: float) -> int:
    """Convert a `time.monotonic` value to kernel ticks since boot."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    ago = time.monotonic() - moment
    return int((time.clock_gettime(clock) - ago) * _TICKS_PER_S)


def _content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


class LocalProcessTree:
    """Implements `tau.base.run.ProcessTree`: its members share a variable in their environment."""

    def __init__(self, guard: OrphanGuard) -> None:
        self._id = os.urandom(8).hex()
        self._guard = guard
        self._sinks = Sinks()
        guard.announce(FAMILY_ID, self._id)

    @property
    def env(self) -> dict[str, str]:
        return {FAMILY_ID: self._id}

    def adopt(self, pipe: int) -> None:
        """Drain a pipe that a background process may still write to."""
        self._sinks.adopt(pipe)

    async def end(self) -> None:
        try:
            await end_all(lambda: find_marked(FAMILY_ID, self._id), GRACE_S)
        finally:
            self._guard.forget(FAMILY_ID, self._id)
            self._sinks.close()


async def end_all(find: Callable[[], list[int]], grace_s: float) -> None:
    """Send TERM to all processes of `find`, and KILL after the grace period, until none is found."""
    send_signal(left := find(), signal.SIGTERM)
    send_signal(left, signal.SIGCONT)  # a stopped process cannot obey
    left = await _wait_for(find, left, grace_s)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STUCK_S
    while left and loop.time() < deadline:
        send_signal(left, signal.SIGKILL)  # repeat: a fork bomb continues until every process is hit
        await asyncio.sleep(0)
        left = find()


async def _wait_for(find: Callable[[], list[int]], left: list[int], seconds: float) -> list[int]:
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, POLL_S
    while left and loop.time() < deadline:
        await asyncio.sleep(min(pause, max(deadline - loop.time(), 0)))
        pause = min(2 * pause, 20 * POLL_S)
        left = find()
    return left
