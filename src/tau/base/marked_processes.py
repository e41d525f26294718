"""Processes found by a mark in their environment, wherever they went: `setsid`, `nohup`, a double fork.

Works where there is a /proc; elsewhere nothing is found, and only a process group can be ended.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_STARTED = 19  # the field of /proc/PID/stat, counted from the one behind the name, that holds the start
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def can_be_found() -> bool:
    return Path("/proc/self/environ").exists()


def marked(name: str, value: str, *, since: float | None = None) -> list[int]:
    """The living processes, but for ourselves, that were started with this variable.

    With `since`, a time of `time.monotonic`, only those that began then or later.
    """
    mark = f"\0{name}={value}\0".encode()
    first_tick = None if since is None else _ticks(since)
    found = []
    with suppress(OSError):
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError):
                if mark not in b"\0" + _content(f"{entry.path}/environ"):
                    continue
                fields = _content(f"{entry.path}/stat").rpartition(b")")[2].split()
                if fields[0] in b"ZX" or (first_tick is not None and int(fields[_STARTED]) < first_tick):
                    continue
                found.append(int(entry.name))
    own = os.getpid()
    return [pid for pid in found if pid != own]


def send(pids: list[int], number: int) -> None:
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
        return True  # unknown here
    for path in processes:
        with suppress(OSError, ValueError):
            state, _, its_group = _content(f"{path}/stat").rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state not in b"ZX":
                return True
    return False


def _ticks(moment: float) -> int:
    """A time of `time.monotonic` as the kernel counts the starts of processes: ticks since the boot."""
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
