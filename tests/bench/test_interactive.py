"""The parts of the interactive benchmark that could be wrong unnoticed."""

import os
import signal
import sys
from pathlib import Path

import pytest

from bench.spawn import cpu_seconds, tree, wakes
from bench.tui_pty import Terminal

ECHO = """
import os, tty
tty.setraw(0)
os.write(1, b"\\x1b[c\\x1b]11;?\\x1b\\\\ready")
got = b""
while b"q" not in got:
    got += os.read(0, 100)
os.write(1, b"got:" + got.replace(b"\\x1b", b"ESC"))
"""


def test_terminal_answers_queries_in_order() -> None:
    with Terminal([sys.executable, "-c", ECHO], os.environ, answers=True) as program:
        assert program.wait_for(b"ready", 20) >= 0
        program.type("q")
        assert program.wait_for(b"q", 20, since=program.output.find(b"ready") + 5) >= 0
    assert b"got:ESC[?62;22cESC]11;rgb:1e1e/1e1e/1e1eESC\\q" in program.output


def test_terminal_without_answers_is_silent() -> None:
    with Terminal([sys.executable, "-c", ECHO], os.environ) as program:
        assert program.wait_for(b"ready", 20) >= 0
        program.type("q")
        assert program.wait_for(b"got:q", 20) >= 0


def test_mark_counts_only_after_the_given_offset() -> None:
    code = "print('mark', flush=True); input()"
    with Terminal([sys.executable, "-c", code], os.environ) as program:
        assert program.wait_for(b"mark", 20) >= 0
        assert program.wait_for(b"mark", 0, since=len(program.output)) == -1
        program.type("mark\n")
        assert program.wait_for(b"mark", 20, since=len(program.output)) >= 0


def test_program_starts_in_the_given_folder(tmp_path: Path) -> None:
    code = "import os; print('in', os.getcwd())"
    with Terminal([sys.executable, "-c", code], os.environ, cwd=tmp_path) as program:
        assert program.wait_for(f"in {tmp_path}".encode(), 20) >= 0


BUSY = r"""
import subprocess, sys, time
inner = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.01); sum(range(20000))"
subprocess.run([sys.executable, "-c", inner])
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts what Linux tells in /proc")
def test_work_of_children_counts_for_the_tree() -> None:
    with Terminal([sys.executable, "-c", BUSY], os.environ) as program:
        assert program.wait_for(b"ready", 20) >= 0
        assert len(tree(program.pid)) == 2
        cpu, woken = cpu_seconds(program.pid), wakes(program.pid)
        program.read_for(0.3)
        assert cpu_seconds(program.pid) > cpu
        assert wakes(program.pid) > woken
        inner = tree(program.pid)[1]
        os.kill(inner, signal.SIGKILL)
