"""Runs a program on a pty and measures when its first bytes arrive."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

LIMIT_SECONDS = 60.0
PAGE_ROWS, PAGE_COLUMNS = 24, 80
REPLIES = {b"\x1b[c": b"\x1b[?62;22c", b"\x1b]11;?\x1b\\": b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"}
QUERY = re.compile(b"|".join(map(re.escape, REPLIES)))


class Terminal:
    """A program on a terminal; killed at the end if still running.

    With `answers`, the terminal answers DA1 and OSC 11, nothing else.
    """

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], *, cwd: Path | None = None, answers: bool = False
    ) -> None:
        self.output = bytearray()
        self._answers = answers
        self.started = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                if cwd is not None:
                    os.chdir(cwd)
                os.execve(argv[0], list(argv), dict(env))
            finally:
                os._exit(127)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", PAGE_ROWS, PAGE_COLUMNS, 0, 0))

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self.pid, 0)

    def read_until(self, mark: bytes, seconds: float = LIMIT_SECONDS) -> float:
        """Return milliseconds from the start to the mark; -1 if the program exits or times out without it."""
        while time.monotonic() - self.started < seconds and self._read(1.0):
            if mark in self.output:
                return (time.monotonic() - self.started) * 1000
        return -1

    def read_for(self, seconds: float) -> None:
        """Read output for this long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._read(left):
            pass

    def type(self, text: str) -> None:
        """Type the text."""
        os.write(self._fd, text.encode())

    def wait_for(self, mark: bytes, seconds: float = LIMIT_SECONDS, *, since: int = 0) -> float:
        """Return milliseconds from now to a mark after byte `since`; -1 as in `read_until`."""
        started = time.monotonic()
        while self.output.find(mark, since) < 0:
            since = max(since, len(self.output) - len(mark) + 1)
            if time.monotonic() - started > seconds or not self._read(1.0):
                return -1
        return (time.monotonic() - started) * 1000

    def _read(self, seconds: float) -> bool:
        """Wait for output; False once the program is gone."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.output += data
        if self._answers:
            self._answer(data)
        return bool(data)

    def _answer(self, data: bytes) -> None:
        for query in QUERY.findall(data):
            os.write(self._fd, REPLIES[query])


@dataclass(frozen=True)
class Shown:
    """`first_ms`: from the start to the first byte of the mark; -1 if it never arrived."""

    first_ms: float
    output: bytes


def on_terminal(
    argv: Sequence[str], mark: bytes, *, env: Mapping[str, str], stop_at_mark: bool = False
) -> Shown:
    """Run a program to its end, or until the mark appears."""
    with Terminal(argv, env) as program:
        first = program.read_until(mark)
        if first >= 0 and not stop_at_mark:
            program.read_until(b"\0 never")
        return Shown(first, bytes(program.output))


def bare_ms(env: Mapping[str, str]) -> float:
    """Time `python -c pass` on a terminal."""
    started = time.monotonic()
    on_terminal([sys.executable, "-c", "pass"], b"\0 never", env=env)
    return (time.monotonic() - started) * 1000
