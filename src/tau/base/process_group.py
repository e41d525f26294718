"""Ends processes together: the process group of a child, and all that a session started, even if detached.

Detached ones are found by a variable in their environment, even after `setsid`, `nohup` or a double fork.
That needs /proc; elsewhere only a process group can be ended.
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
from tau.base.run import FAMILY_ID, RUN_ID, Child

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


class ProcessGroup:
    """The process group of a child that leads it, and what the child started outside it.

    The exited child stays a zombie until we are done: as long as its pid is taken, our signals cannot reach
    an unrelated process with the same pid.
    """

    def __init__(self, child: Child, run_id: str, gone: asyncio.Event) -> None:
        self.ended = False
        self._child = child
        self._run_id = run_id
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._kill_at: float | None = None
        self._timers: list[asyncio.TimerHandle] = []

    def terminate(self, grace_s: float) -> float:
        """Send TERM to the group, once; returns when KILL follows."""
        kill_at = self._loop.time() + grace_s
        if self._kill_at is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a stopped process cannot obey
        if self._kill_at is None or kill_at < self._kill_at:
            self._kill_at = kill_at
            self._timers.append(self._loop.call_at(kill_at, self._signal, signal.SIGKILL))
        return self._kill_at

    async def end(self, grace_s: float, *, since: float | None = None) -> None:
        """Send TERM, and KILL after the grace period; returns when the child is gone.

        With `since` (a `time.monotonic` value), leave what the child started before.
        """
        if since is not None and can_find_marked():
            await end_all(lambda: self._started_since(since), grace_s)
            return
        deadline = self.terminate(grace_s)
        send_signal(find_marked(RUN_ID, self._run_id), signal.SIGTERM)
        with suppress(TimeoutError):  # then the timer has sent KILL
            async with asyncio.timeout_at(deadline):
                await self._gone.wait()
                self._child.reap()
                pause = POLL_S
                while group_has_processes(self._child.pid, signal_group=self._signal):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 20 * POLL_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(STUCK_S):
                await self._gone.wait()
        self.ended = True
        await end_all(lambda: find_marked(RUN_ID, self._run_id), 0)

    def close(self) -> None:
        """Leave what is left of it alone."""
        self.ended = True
        for timer in self._timers:
            timer.cancel()

    def _started_since(self, since: float) -> list[int]:
        """Return the child itself while it lives, and those it started after `since`."""
        pids = find_marked(RUN_ID, self._run_id, since=since)
        return pids if self._gone.is_set() or self._child.pid in pids else [self._child.pid, *pids]

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; False if it has no members."""
        if self.ended:
            return False
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


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
