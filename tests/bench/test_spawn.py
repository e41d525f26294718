"""The measuring tools of the benchmarks."""

import os
import sys
from pathlib import Path

import pytest

from bench.spawn import Run, spawn


def run_code(code: str, folder: Path, *, sample_memory: bool = False) -> Run:
    return spawn([sys.executable, "-c", code], env=dict(os.environ), cwd=folder, sample_memory=sample_memory)


def test_run_returns_exit_code_output_and_cost(tmp_path: Path) -> None:
    run = run_code("print('hello'); sum(range(3_000_000)); raise SystemExit(3)", tmp_path)
    assert (run.code, run.output) == (3, "hello\n")
    assert run.cpu_ms > 0 and run.wall_ms > 0
    assert run.rss_mb > 1


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from /proc")
def test_memory_of_children_counts(tmp_path: Path) -> None:
    child = "import time; held = b'x' * 50_000_000; time.sleep(0.3)"
    run = run_code(
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])",
        tmp_path,
        sample_memory=True,
    )
    assert run.pss_mb > 50


def test_processes_left_in_the_group_are_killed(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    try:
        run = run_code(
            f"import subprocess; subprocess.Popen(['sleep', '60'], stdout=open({str(held)!r}, 'w'))", tmp_path
        )
        os.set_blocking(reader, True)
        assert run.code == 0
        assert os.read(reader, 1) == b""  # EOF comes when nobody holds the other side any more
    finally:
        os.close(reader)
