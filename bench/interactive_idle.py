"""Measures idle tau: memory, CPU time and wake-ups of its processes."""

import time

from interactive_desk import desk, megabytes, seconds
from report import Row
from spawn import cpu_seconds, kilobytes, tree_kilobytes, wakes

IDLE_SECONDS, QUICK_IDLE_SECONDS = 30, 5
MEMORY_LIMIT_MB, CPU_LIMIT_S, WAKES_LIMIT = 60, 0.01, 1


def measure(quick: bool) -> list[tuple[Row, float]]:
    length = QUICK_IDLE_SECONDS if quick else IDLE_SECONDS
    with desk() as at, at.ready() as program:
        program.read_for(2.0)
        pss = (tree_kilobytes(program.pid) or 0) * 1024 / 1e6
        rss = (kilobytes(program.pid, "status", "VmRSS") or 0) * 1024 / 1e6
        cpu, woken = cpu_seconds(program.pid), wakes(program.pid)
        time.sleep(length)
        cpu, woken = cpu_seconds(program.pid) - cpu, wakes(program.pid) - woken
    return [
        (Row("idle_pss", "memory at the idle screen, whole tree (PSS)", MEMORY_LIMIT_MB, megabytes), pss),
        (Row("idle_rss", "... of the program alone (RSS)", None, megabytes), rss),
        (Row("idle_cpu", f"idle for {length} s: CPU", CPU_LIMIT_S, seconds), cpu),
        (
            Row("idle_wakes", "... wake-ups a second", WAKES_LIMIT, lambda value: f"{value:.2f}"),
            woken / length,
        ),
    ]
