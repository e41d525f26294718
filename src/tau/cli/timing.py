"""`TAU_TIMING=1`: reports startup time on stderr at exit. Costs nothing when off."""

import os
import sys
import time

ON = os.environ.get("TAU_TIMING", "") not in ("", "0")

_marks: list[tuple[str, float]] = []
_cpu_before: list[float] = []


def mark(name: str) -> None:
    """End the phase `name` here; only the first mark of a name counts."""
    if ON and all(name != known for known, _ in _marks):
        if not _marks:
            _cpu_before.append(time.process_time())
        _marks.append((name, time.monotonic()))


def report() -> None:
    if not ON or not _marks:
        return
    start = before = process_start()
    lines = ["tau: Startup in milliseconds, per phase and in total:\n"]
    for name, moment in _marks:
        lines.append(f"  {name:<40}{(moment - before) * 1000:>9.1f} {(moment - start) * 1000:>8.1f}\n")
        before = moment
    _marks.clear()
    _cpu_before.clear()
    if sys.stderr is not None:
        sys.stderr.write("".join(lines))
        sys.stderr.flush()


def process_start() -> float:
    """When this process started, on the clock of `time.monotonic`.

    Linux reports it in steps of 10 ms; elsewhere, the CPU time before the first mark is used.
    """
    first = _marks[0][1]
    try:
        with open("/proc/self/stat", encoding="ascii") as file:  # noqa: PTH123 (pathlib is not loaded yet)
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return first - _cpu_before[0]
    return min(time.monotonic() - age, first - _cpu_before[0])
