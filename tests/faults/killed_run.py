"""A run to kill at any moment, and what must be true afterwards."""

import json
import time
from typing import Any

from tests.e2e.program import Program, is_alive
from tests.support.fake_answers import Call, Text
from tests.support.limits import HANG_S

SLEEPER = "setsid sleep 60 & echo $! >> pids"
ANSWERS = (
    (Text("I look.", deltas=2), Call("bash", {"command": SLEEPER}), Call("read", {"path": "pids"})),
    (Text("Once more."), Call("write", {"path": "made.txt", "content": "x"})),
    "Done.",
    "And that is all.",
)
STEP = 3  # moments of all that are tried in every test run


def check_children(tau: Program) -> None:
    """No command outlives its agent."""
    pids = tau.project / "pids"
    for pid in map(int, pids.read_text().split() if pids.exists() else ()):
        end = time.monotonic() + HANG_S
        while is_alive(pid):
            assert time.monotonic() < end, "A child is left."
            time.sleep(0.01)


def kept_messages(tau: Program) -> list[Any]:
    return [entry["message"] for file in tau.sessions() for entry in file if entry["type"] == "message"]


def check_queue(tau: Program, queued: str) -> None:
    queues = [path.read_text() for path in tau.home.rglob("queue.json")]
    assert queued in json.dumps(kept_messages(tau)) + "".join(queues)
