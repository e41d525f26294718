"""Measures how long Escape takes to lead to rest in each state of the screen, on the real program."""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import parts
from report import Row, milliseconds

from tests.backends.ssh.loopback import running_sshd
from tests.e2e.interactive.desk import Desk
from tests.e2e.interactive.escape_stage import Stage, State, full_port, is_dialled
from tests.e2e.interactive.escape_states import STATES, connecting, remote
from tests.e2e.program import Program
from tests.support.fake_server import FakeServer

LIMIT_MS = 200
ROUNDS, QUICK_ROUNDS = 20, 2
FOLDERS, FILES_EACH = 500, 200
ESCAPE = "\x1b"  # the byte alone, after which tau waits a moment for more: the slowest way to say it
WAIT_S = 10
TWICE_S = 0.6  # after which a second Ctrl+C does not quit


def measure(quick: bool) -> Iterator[tuple[Row, float]]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with full_port() as port, running_sshd() as server:
        states = {
            "connecting": connecting(lambda: is_dialled(port)),
            **STATES,
            "a command on another machine": remote(server),
        }
        if not quick:
            deaf = STATES["a command that is deaf"]
            states["the same in a repository of 100,000 files"] = replace(deaf, prepare=_repository)
        for name, state in states.items():
            times, work = _escapes(state, port, rounds)
            middle = f"median {milliseconds(median(times))}, {milliseconds(median(work))} of it CPU"
            title = f"Escape, {name}: worst of {rounds} ({middle})"
            yield Row(name, title, LIMIT_MS, milliseconds), max(times)


def _escapes(state: State, port: int, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds from the byte to a screen on which nothing runs and the editor takes keys.

    The second list is the CPU time of tau in them, which others at work on this machine do not change.
    """
    chance = random.Random(3)
    found, work = [], []
    with _desk() as desk:
        stage = Stage(desk, state, port)
        for _ in range(rounds):
            stage.play()
            time.sleep(chance.uniform(0.05, 0.2))
            begun, used = time.monotonic(), _cpu_ms(stage.seat.pid)
            stage.seat.term.type(ESCAPE)
            stage.seat.term.wait_until(stage.rests, WAIT_S, "rest")
            found.append((time.monotonic() - begun) * 1000)
            work.append(_cpu_ms(stage.seat.pid) - used)
            if state.queued:
                stage.seat.press("ctrl+c")
                time.sleep(TWICE_S)
    return found, work


def _cpu_ms(pid: int) -> float:
    """Of the main thread, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


@contextmanager
def _desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="tau-escape-") as place, FakeServer() as server:
        os.environ.update(HOME=place, TAU_HOME=f"{place}/home")
        desk = Desk(Program(server, Path(place)))
        try:
            yield desk
        finally:
            desk.close()


def _repository(stage: Stage) -> dict[str, str]:
    for folder in range(FOLDERS):
        place = stage.project / f"folder-{folder}"
        place.mkdir()
        for file in range(FILES_EACH):
            (place / f"{file}.txt").write_text(f"{folder} {file}\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
    for command in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "all")):
        subprocess.run(("git", *command), cwd=stage.project, check=True)
    return {}


if __name__ == "__main__":
    parts.show("Measure how long Escape takes in each state of the screen.", (sys.modules[__name__],))
