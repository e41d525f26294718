"""A program with its own terminal: a child process on a pty whose other end the test holds."""

import contextlib
import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.limits import HANG_S

_LIMIT_S = HANG_S

# Every child starts like this. Its terminal events go to the log, one JSON value per line.
HEAD = """
import asyncio, fcntl, json, os, signal, sys, termios
from tau.tui.input.key import Key
from tau.tui.terminal.process_terminal import ProcessTerminal

with __import__("contextlib").suppress(OSError):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

LOG = int(sys.argv[1])

def log(*values):
    os.write(LOG, (json.dumps(values) + "\\n").encode())

class Watcher:
    terminal = None
    done = None
    def on_input(self, events):
        for event in events:
            log("key", event.name) if isinstance(event, Key) else log("paste", event.text)
            if isinstance(event, Key) and event.name == "q":
                self.done.set()
    def on_resize(self): log("size", self.terminal.columns, self.terminal.rows)
    def on_cursor(self, row, column): log("cursor", row, column)
    def on_background(self, background): log("background", background)
    def on_focus(self, focused): log("focus", focused)
    def on_capabilities(self): log("capabilities")
    def on_closed(self): log("closed"); self.done.set()

async def started():
    watcher = Watcher()
    watcher.done = asyncio.Event()
    watcher.terminal = ProcessTerminal(loop=asyncio.get_running_loop())
    watcher.terminal.start(watcher)
    log("ready")
    return watcher.terminal, watcher
"""


RUN = """
async def main():
    terminal, watcher = await started()
    await watcher.done.wait()
    terminal.stop()

asyncio.run(main())
"""
SWITCHES = (
    (b"\x1b[?2004h", b"\x1b[?2004l"),
    (b"\x1b[?1004h", b"\x1b[?1004l"),
    (b"\x1b[?2048h", b"\x1b[?2048l"),
    (b"\x1b[?2031h", b"\x1b[?2031l"),
    (b"\x1b[>7u", b"\x1b[<u"),
    (b"\x1b[>4;2m", b"\x1b[>4;0m"),
)


class PtyChild:
    """The child, the terminal's side of its pty, and what it logs."""

    def __init__(self, body: str, **env: str) -> None:
        self.master, self.slave = os.openpty()
        self.resize(80, 24)
        self.before = termios.tcgetattr(self.slave)
        read_end, write_end = os.pipe()
        settings = {
            "TERM": "xterm-256color",
            "PATH": os.defpath,
            **env,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + body, str(write_end)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=subprocess.PIPE,
            pass_fds=(write_end,),
            start_new_session=True,
            env=settings,
        )
        os.close(write_end)
        self._log_end = read_end
        self._log_rest = b""
        self.log: list[list[Any]] = []
        self.shown = b""
        self.answer: Callable[[bytes], bytes] | None = None
        """Simulates the terminal: what it answers to the output."""
        self.reading = True

    def wait_for(self, *entry: Any) -> None:
        """Wait until the child has logged this."""
        self.until(lambda: list(entry) in self.log, f"{entry} in the log")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while not holds():
            ended = self.process.poll() is not None
            moved = self._turn(0.0 if ended else 0.05)
            if (ended and not moved and not holds()) or time.monotonic() > deadline:
                raise AssertionError(
                    f"no {what}; log {self.log}, shown {self.shown[-2000:]!r}, {self.errors()}"
                )

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ends(self) -> int:
        """Its exit status, once it has ended and all its output has been read."""
        self.until(lambda: self.process.poll() is not None, "end")
        while self._turn(0.0):
            pass
        return self.process.wait()

    def hang_up(self) -> None:
        """The window is closed."""
        os.close(self.master)
        os.close(self.slave)
        self.master = self.slave = -1

    def errors(self) -> str:
        if self.process.poll() is None or self.process.stderr is None:
            return ""
        return self.process.stderr.read().decode()

    @property
    def unread(self) -> int:
        """How many bytes wait for the next reader of the tty."""
        return int(struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"\0\0\0\0"))[0])

    def _turn(self, timeout_s: float) -> bool:
        sources = [self._log_end] + ([self.master] if self.reading and self.master >= 0 else [])
        ready = select.select(sources, [], [], timeout_s)[0]
        moved = False
        for fd in ready:
            data = os.read(fd, 65536)
            moved = moved or bool(data)
            if fd == self.master:
                self.shown += data
                answer = self.answer(data) if self.answer is not None else b""
                if answer:
                    os.write(self.master, answer)
            else:
                *lines, self._log_rest = (self._log_rest + data).split(b"\n")
                self.log += [json.loads(line) for line in lines]
        return moved

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        for fd in (self.master, self.slave, self._log_end):
            if fd >= 0:
                os.close(fd)


@contextlib.contextmanager
def pty_child(body: str, **env: str) -> Iterator[PtyChild]:
    """The child, killed and cleaned up whatever happens."""
    child = PtyChild(body, **env)
    try:
        yield child
    finally:
        child.close()


def answers_like_a_modern_terminal(data: bytes) -> bytes:
    """A terminal's answers to the queries in the data, in order."""
    replies = {
        b"\x1b[?u": b"\x1b[?0u",
        b"\x1b[c": b"\x1b[?62;22c",
        b"\x1b]11;?\x1b\\": b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
        b"\x1b[?2026$p": b"\x1b[?2026;2$y",
        b"\x1b[?2048$p": b"\x1b[?2048;2$y",
        b"\x1b[?2031$p": b"\x1b[?2031;2$y",
        b"\x1b]99;i=tau:p=?;\x1b\\": b"\x1b]99;i=tau:p=?;p=title\x1b\\",
        b"\x1b[16t": b"\x1b[6;20;10t",
    }
    found = sorted((at, reply) for question, reply in replies.items() for at in _places(data, question))
    return b"".join(reply for _, reply in found)


def _places(data: bytes, part: bytes) -> Iterator[int]:
    at = data.find(part)
    while at >= 0:
        yield at
        at = data.find(part, at + 1)


def assert_as_found(child: PtyChild) -> None:
    assert termios.tcgetattr(child.slave) == child.before
    for on, off in SWITCHES:
        assert child.shown.count(on) == child.shown.count(off)
        assert child.shown.rfind(off) >= child.shown.rfind(on)
    assert b"\x1b[?25h" in child.shown
    assert b"\x1b[?7h" in child.shown
    assert child.unread == 0
