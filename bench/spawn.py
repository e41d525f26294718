"""Runs a program and measures its duration, CPU time and memory."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT_SECONDS = 120
SAMPLE_SECONDS = 0.004
CLOCK_OF_PROCESS = 2  # Linux: combined with a pid, the clock of its CPU time


@dataclass(frozen=True)
class Run:
    """`started` is CLOCK_MONOTONIC in seconds; CPU time includes the children that the program waited for.

    `pss_mb` is the peak of the whole process tree, sampled. `rss_mb` is that of the program itself; where it
    was not sampled it comes from the kernel, which also counts what we held ourselves when it was launched.
    """

    started: float
    wall_ms: float
    cpu_ms: float
    rss_mb: float
    pss_mb: float
    code: int
    output: str


def spawn(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, sample_memory: bool = False) -> Run:
    peak = Peak()
    with tempfile.TemporaryFile() as out:
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        overdue = threading.Timer(LIMIT_SECONDS, end_group, (process.pid,))
        overdue.daemon = True
        overdue.start()
        if sample_memory:
            threading.Thread(target=peak.watch, args=(process.pid,), daemon=True).start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            wall = time.monotonic() - started
        finally:
            overdue.cancel()
            end_group(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    rss_unit = 1 if os.uname().sysname == "Darwin" else 1024
    return Run(
        started,
        wall * 1000,
        (used.ru_utime + used.ru_stime) * 1000,
        peak.own_kilobytes * 1024 / 1e6 or used.ru_maxrss * rss_unit / 1e6,
        peak.tree_kilobytes * 1024 / 1e6,
        process.returncode,
        text,
    )


def end_group(pid: int) -> None:
    """Kill what is left in a program's process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class Peak:
    """The peak memory of a process and its descendants; Linux only, else 0."""

    def __init__(self) -> None:
        self.tree_kilobytes = 0
        self.own_kilobytes = 0

    def watch(self, pid: int) -> None:
        while (total := tree_kilobytes(pid)) is not None:
            self.tree_kilobytes = max(self.tree_kilobytes, total)
            self.own_kilobytes = max(self.own_kilobytes, kilobytes(pid, "status", "VmHWM") or 0)
            time.sleep(SAMPLE_SECONDS)


def tree_kilobytes(root: int) -> int | None:
    """Return the memory of a process tree, shared memory counted once; None if `root` is gone."""
    children = children_by_parent()
    waiting, total = [root], 0
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        own = kilobytes(pid, "smaps_rollup", "Pss")
        if own is None and pid == root:
            return None
        total += own or 0
    return total


def kilobytes(pid: int, file: str, key: str) -> int | None:
    """Return a figure from /proc; None if the process is gone or a zombie."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(key + ":")), None)


def children_by_parent() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    try:
        pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except FileNotFoundError:
        return {}
    for pid in pids:
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(pid))
    return children


def tree(root: int) -> list[int]:
    """Return a process and its descendants."""
    children = children_by_parent()
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds(root: int) -> float:
    """Return the CPU time of the tree, including exited children of `root`."""
    total = 0.0
    for pid in tree(root):
        try:
            total += time.clock_gettime(~pid << 3 | CLOCK_OF_PROCESS)
        except OSError:  # it has just exited
            continue
    fields = Path(f"/proc/{root}/stat").read_text().rpartition(")")[2].split()
    return total + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def wakes(root: int) -> int:
    """Return how often threads of the tree woke up."""
    total = 0
    for pid in tree(root):
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            lines = status.read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
    return total
