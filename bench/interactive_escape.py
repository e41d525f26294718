"""Measures the time from Escape to idle in each state of the screen, on the real program."""

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
from tests.e2e.interactive.escape_rig import Stage, State, full_port, is_dialled
from tests.e2e.interactive.escape_states import STATES, connecting, remote
from tests.e2e.interactive.launcher import Launcher
from tests.e2e.program import Program
from tests.support.fake_server import FakeServer

LIMIT_MS = 200
ROUNDS, QUICK_ROUNDS = 20, 2
FOLDERS, FILES_EACH = 500, 200
ESCAPE = "\x1b"  # a lone Escape byte: tau waits for the rest of a sequence, so this is the slowest form
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
    """Return milliseconds from the byte to an idle screen whose editor takes keys.

    The second list is the CPU time of tau, which does not depend on other load on the machine.
    """
    chance = random.Random(3)
    found, work = [], []
    with _desk() as launcher:
        stage = Stage(launcher, state, port)
        for _ in range(rounds):
            stage.play()
            time.sleep(chance.uniform(0.05, 0.2))
            started, used = time.monotonic(), _cpu_ms(stage.user.pid)
            stage.user.term.type(ESCAPE)
            stage.user.term.wait_until(stage.rests, WAIT_S, "rest")
            found.append((time.monotonic() - started) * 1000)
            work.append(_cpu_ms(stage.user.pid) - used)
            if state.queued:
                stage.user.press("ctrl+c")
                time.sleep(TWICE_S)
    return found, work


def _cpu_ms(pid: int) -> float:
    """Return the CPU time of the main thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


@contextmanager
def _desk() -> Iterator[Launcher]:
    with tempfile.TemporaryDirectory(prefix="tau-escape-") as place, FakeServer() as server:
        os.environ.update(HOME=place, TAU_HOME=f"{place}/home")
        launcher = Launcher(Program(server, Path(place)))
        try:
            yield launcher
        finally:
            launcher.close()


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
