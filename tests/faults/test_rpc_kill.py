"""kill -9 of either end of RPC mode at every event: no child is left, and nothing reported is lost."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.program import FAKE, TAU, Program
from tests.faults.killed_run import ANSWERS, STEP, check_children, check_queue, kept_messages
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking

Frame = dict[str, Any]


class Play:
    """The prompt, a message queued while it runs, and what has been reported."""

    def __init__(self, tau: Program, at: int) -> None:
        tau.script(*ANSWERS)
        self.tau = tau
        self.queued = f"then this, {at}"
        self.frames: list[Frame] = []
        command = [*TAU, "--mode", "rpc", "--snapshots", "none", *FAKE]
        self.server = tau.popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tau.project
        )
        self.send({"id": "1", "type": "prompt", "message": "go"})

    def send(self, frame: Frame) -> None:
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(frame).encode() + b"\n")
        self.server.stdin.flush()

    def read(self, count: int) -> bool:
        """Read up to this many lines; whether there are more."""
        assert self.server.stdout is not None
        for line in self.server.stdout:
            self.frames.append(json.loads(line))
            if self.frames[-1]["type"] == "agent_start":
                self.send({"id": "2", "type": "follow_up", "message": self.queued})
            if self.frames[-1]["type"] == "agent_settled":
                return False
            if len(self.frames) == count:
                return True
        raise AssertionError("The program ended on its own.")

    def leave(self) -> None:
        """What the kernel does when the client is killed."""
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.close()
        self.server.stdout.close()

    def check(self) -> None:
        check_children(self.tau)
        kept = kept_messages(self.tau)
        ended = [frame["message"] for frame in self.frames if frame["type"] == "message_end"]
        assert [message for message in ended if message not in kept] == []
        if any(frame.get("id") == "2" for frame in self.frames):
            check_queue(self.tau, self.queued)


@contextmanager
def play(tau: Program, at: int) -> Iterator[Play]:
    playing = Play(tau, at)
    try:
        yield playing
    finally:
        playing.leave()
        if playing.server.poll() is None:
            playing.server.kill()
        playing.server.wait()


def count_events(tau: Program) -> int:
    with play(tau, 0) as playing:
        assert not playing.read(1000)
        return len(playing.frames)


@pytest.mark.parametrize("end", ["server", "client"])
def test_kill_at_an_event_loses_nothing_that_was_reported(tau: Program, end: str) -> None:
    events = count_events(tau)
    assert events > 40
    for at in range(1, events, 1 if is_soaking() else events // STEP):
        with play(tau, at) as playing:
            assert playing.read(at)
            if end == "server":
                os.kill(playing.server.pid, signal.SIGKILL)
            else:
                playing.leave()
            playing.server.wait(HANG_S)
            playing.check()
