"""Kills tau while a tool has processes, and checks that none of them lives on."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.limits import HANG_S

SCRIPT = Path(__file__).with_name("run_until_killed.py")


def assert_nothing_lives_after_a_kill(folder: Path, tool: str, arguments: dict[str, Any]) -> None:
    """The tool starts at least one process besides the guard that ends it."""
    argv = [sys.executable, str(SCRIPT), str(folder), tool, json.dumps(arguments)]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pids = [int(word) for word in child.stdout.readline().split()]
    assert len(pids) >= 2
    child.kill()
    child.wait()
    child.stdout.close()
    deadline = time.monotonic() + HANG_S
    alive = pids
    while alive and time.monotonic() < deadline:
        time.sleep(0.02)
        alive = [pid for pid in pids if is_alive(pid)]
    assert not alive


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
