"""Starts tau as a fork of a process that has imported it already, which takes a tenth of the time.

Everything else is as if it had been executed: see `fork_server.py`. tau is executed where a test is about the
start itself, on other systems than Linux, and with `--soak`.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.support.fork_server import READY, ProgramStart

SERVER = Path(__file__).with_name("fork_server.py")
ROOT = SERVER.parents[2]
PR_SET_CHILD_SUBREAPER = 36
ROOM = "-" * 131_000  # one argument may have 128 KiB
"""Space for the command line and the environment of a fork."""
READ_AT_START = ("PYTHON", "LANG", "LC_", "TAU_TIMING")
PREFIX = (sys.executable, "-m", "tau")


_adopted: set[int] = set()
"""Orphans of earlier programs that became our children during a fork."""


def reap_adopted() -> None:
    """Wait for those that have ended. Call it when no code waits for a child."""
    for pid in tuple(_adopted):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _adopted.discard(pid)


def adopted() -> set[int]:
    return set(_adopted)


def children() -> set[int]:
    files = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in files for pid in file.read_text().split()}


def read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


class ForkServer:
    """One per test process. Use it with `with`."""

    def __init__(self) -> None:
        self._read_at_start = read_at_start(os.environ)
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), str(theirs.fileno()), ROOM],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": str(ROOT), "ROOM": ROOM},
        )
        theirs.close()
        assert self._requests.recv(len(READY)) == READY

    def can_start(self, environment: Mapping[str, str]) -> bool:
        """Whether nothing in it has to be read before the first import."""
        return read_at_start(environment) == self._read_at_start

    def start(self, argv: Sequence[str], *, terminal: str = "", **options: Any) -> subprocess.Popen[bytes]:
        """`subprocess.Popen(argv, **options)`, where `argv` starts with `PREFIX`."""
        assert tuple(argv[: len(PREFIX)]) == PREFIX
        return ForkedProgram(self, argv, terminal, options)

    def fork(self, start: ProgramStart, streams: Sequence[int]) -> int:
        """The pid of a new child of ours."""
        prctl = ctypes.CDLL(None).prctl
        before = children()
        pid = 0
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._requests, [json.dumps(asdict(start)).encode()], list(streams))
            pid = int(self._requests.recv(16))
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
            _adopted.update(children() - before - {pid})
        return pid

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *error: object) -> None:
        self._requests.close()
        self._process.wait()


class ForkedProgram(subprocess.Popen[bytes]):
    """A child that the server forks."""

    def __init__(
        self, server: ForkServer, argv: Sequence[str], terminal: str, options: dict[str, Any]
    ) -> None:
        self._server = server
        self._terminal = terminal
        super().__init__(argv, **options)

    def _execute_child(self, argv: Sequence[str], *rest: Any) -> None:
        """In place of the method that forks and executes; `rest` is in the order of its parameters."""
        (cwd, env), pipes, new_session = rest[4:6], rest[9:15], rest[20]
        ours = enumerate((pipes[0], pipes[3], pipes[5]))
        start = ProgramStart(
            list(argv[len(PREFIX) :]),
            dict(os.environ if env is None else env),
            os.fspath(cwd or Path.cwd()),
            new_session,
            self._terminal,
        )
        try:
            self.pid = self._server.fork(start, [number if number >= 0 else at for at, number in ours])
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
