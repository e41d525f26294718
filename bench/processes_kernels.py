"""Measures the kernels: the start time, and the overhead of a warm cell."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from shutil import which
from statistics import median

from report import Row, milliseconds

from tau.backends.kernels.cells import Cell, KernelLanguage, NoHost
from tau.backends.kernels.pool import Kernels
from tau.base.run import LocalRunner, capture

CODE = "total = 0\nfor i in range(100):\n    total += i\n"
SCRIPT = "var total = 0; for (let i = 0; i < 100; i++) total += i; undefined"
ROUNDS = 40
QUICK_ROUNDS = 7
CELLS = 300


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians."""
    return asyncio.run(_measure(QUICK_ROUNDS if quick else ROUNDS))


async def _measure(rounds: int) -> list[tuple[Row, float]]:
    runner = LocalRunner()
    try:
        with tempfile.TemporaryDirectory() as folder:
            cwd = Path(folder)
            await _ready(runner, cwd, "python", 1)  # write bytecode and load modules
            bare = await _bare(runner, cwd, rounds)
            ready = await _ready(runner, cwd, "python", rounds)
            cell = await _cells(runner, cwd, "python", CODE) - _executed(CODE)
            figures = [
                (Row("python_bare_ms", "`python -c pass`, start to exit", None, milliseconds), bare),
                (Row("python_ready_ms", "a Python kernel, start to ready", 60, milliseconds), ready),
                (Row("python_cell_ms", "a warm Python cell over `exec`", 2, milliseconds), cell),
            ]
            if which("node"):
                ready = await _ready(runner, cwd, "js", rounds)
                cell = await _cells(runner, cwd, "js", SCRIPT)
                figures += [
                    (Row("js_ready_ms", "a JavaScript kernel, start to ready", None, milliseconds), ready),
                    (Row("js_cell_ms", "a warm JavaScript cell", None, milliseconds), cell),
                ]
            return figures
    finally:
        runner.close()


async def _bare(runner: LocalRunner, cwd: Path, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        async with await runner.start([sys.executable, "-c", "pass"], cwd=cwd) as process:
            await capture(process)
        times.append(_since(started))
    return median(times)


async def _ready(runner: LocalRunner, cwd: Path, language: KernelLanguage, rounds: int) -> float:
    """Measure until an empty cell has run, slightly more than ready."""
    times = []
    async with Kernels(runner, python=sys.executable) as kernels:
        for _ in range(rounds):
            await kernels.forget("main")
            started = time.perf_counter()
            await kernels.run(Cell(language=language, code=""), _ignore, NoHost(), cwd=cwd)
            times.append(_since(started))
    return median(times)


async def _cells(runner: LocalRunner, cwd: Path, language: KernelLanguage, code: str) -> float:
    times = []
    async with Kernels(runner, python=sys.executable) as kernels:
        for _ in range(CELLS):
            started = time.perf_counter()
            await kernels.run(Cell(language=language, code=code), _ignore, NoHost(), cwd=cwd)
            times.append(_since(started))
    return median(times)


def _executed(code: str) -> float:
    names: dict[str, object] = {}
    times = []
    for _ in range(CELLS):
        started = time.perf_counter()
        exec(compile(code, "<cell>", "exec"), names)
        times.append(_since(started))
    return median(times)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _ignore(event: object) -> None:
    """Ignore the event."""


if __name__ == "__main__":
    for row, value in measure("--quick" in sys.argv):
        target = "" if row.target is None else f" (at most {row.form(row.target)})"
        print(f"{row.title}: {row.form(value)}{target}")
