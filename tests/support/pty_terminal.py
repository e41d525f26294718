"""A real program on a real pty; an in-memory terminal shows its output and answers its queries."""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.support.forked import ForkServer
from tests.support.limits import HANG_S
from tests.support.terminal.emulator.queries import is_dark, report_background
from tests.support.terminal.virtual import Answers, Cell, Habits, VirtualTerminal

WAIT_SECONDS = HANG_S
STOP_SECONDS = 20.0
LOOK_SECONDS = 0.05
"""How often to check a condition that does not depend on the screen alone."""
PERSON_S = 0.03
"""How long after text a person presses Enter, at least; what comes sooner is a paste."""
# The first terminal a session leader opens becomes its controlling terminal.
OPEN_TERMINAL = 'terminal=$1; shift; exec "$@" <"$terminal" >"$terminal" 2>&1'


class PtyTerminal:
    """Use it with `with`. A thread reads the program's output, so it never blocks on us."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 24,
        *,
        cwd: Path | None = None,
        answers: bool | Answers = True,
        habits: Habits | None = None,
        forks: ForkServer | None = None,
    ) -> None:
        self.terminal = VirtualTerminal(columns, rows, answers=answers, habits=habits)
        self.output = bytearray()
        """All output bytes so far."""
        self._lock = threading.Condition()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master, slave = pty.openpty()
        self._slave = os.ttyname(slave)
        set_size(slave, columns, rows)
        self.terminal.on_reply(self._send)
        _reset_hangup_signal()
        environment = {
            **os.environ,
            "PWD": str(cwd or Path.cwd()),
            "TERM": "xterm-256color",
            **(env or {}),
        }
        try:
            if forks is None or not forks.can_start(environment):
                start, argv = subprocess.Popen, ["/bin/sh", "-c", OPEN_TERMINAL, "sh", self._slave, *argv]
            else:
                start = partial(forks.start, terminal=self._slave)
            self.process = start(
                argv,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )
        finally:
            os.close(slave)
        self._ended = False
        self._is_after_enter = False
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def type(self, text: str) -> None:
        """Raw bytes from the keyboard; what follows Enter is not typed before that was read."""
        if self._is_after_enter:
            self._wait_until_read()
        self._is_after_enter = False
        self._send(text)

    def press(self, *names: str) -> None:
        """Keys by name, in the encoding the program requested; Enter like a person, not right after text."""
        for name in names:
            if name == "enter":
                self._wait_until_read()
                time.sleep(PERSON_S)
            self._is_after_enter = name == "enter"
            with self._lock:
                data = self.terminal.bytes_of(name)
            self._send(data)

    def paste(self, text: str) -> None:
        """With bracketed-paste markers, if the program requested them."""
        with self._lock:
            bracketed = self.terminal.modes.get(2004, False)
        self._send(f"\x1b[200~{text}\x1b[201~" if bracketed else text)

    def focus(self, focused: bool) -> None:
        with self._lock:
            reported = self.terminal.modes.get(1004, False)
        if reported:
            self._send("\x1b[I" if focused else "\x1b[O")

    def background(self, color: str) -> None:
        """Change the background (`rgb:ffff/ffff/ffff`); reported at once if the program requested that."""
        with self._lock:
            machine = self.terminal._machine
            assert machine.answers is not None
            was_dark = is_dark(machine.answers.background)
            machine.answers = machine.answers._replace(background=color)
            if machine.modes.get(2031) and was_dark != is_dark(color):
                report_background(machine)

    def scribble(self, text: str) -> None:
        """Another program writes to the same terminal."""
        with self._lock:
            self.terminal.write(text)

    def resize(self, columns: int, rows: int) -> None:
        with self._lock:
            self.terminal.resize(columns, rows)
            set_size(self._master, columns, rows)

    def screen(self) -> list[str]:
        with self._lock:
            return self.terminal.visible_screen()

    def cells(self) -> tuple[tuple[tuple[Cell, ...], ...], tuple[int, int] | None]:
        """All cells of the screen, row by row, and the cursor unless it is hidden."""
        with self._lock:
            screen, columns = self.terminal, range(self.terminal.columns)
            rows = tuple(tuple(screen.cell(y, x) for x in columns) for y in range(screen.rows))
            return rows, screen.cursor if screen.cursor_visible else None

    def tape(self) -> list[str]:
        with self._lock:
            return self.terminal.tape()

    def wait_for(self, text: str, timeout: float = WAIT_SECONDS) -> list[str]:
        """The screen as soon as one of its rows contains this text."""
        return self.wait_until(lambda rows: any(text in row for row in rows), timeout, what=repr(text))

    def wait_until(
        self, holds: Callable[[list[str]], bool], timeout: float = WAIT_SECONDS, what: str = "it"
    ) -> list[str]:
        """The screen as soon as its rows satisfy the condition."""
        end = time.monotonic() + timeout
        with self._lock:
            while True:
                rows = self.terminal.visible_screen()
                if holds(rows):
                    return rows
                left = end - time.monotonic()
                if left <= 0 or self._ended:
                    why = "the program ended" if self._ended else f"{timeout} s passed"
                    raise AssertionError(f"{why} before {what} was there; the screen:\n" + "\n".join(rows))
                self._lock.wait(min(left, LOOK_SECONDS))

    def wait(self, timeout: float = WAIT_SECONDS) -> int:
        """The exit code, once all output is on the screen."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            rows = "\n".join(self.screen())
            raise AssertionError(
                f"{timeout} s passed before the program ended; the screen:\n{rows}"
            ) from None
        self._thread.join(timeout)
        return code

    def stop(self) -> None:
        """Hang up like a closed window, and kill what does not exit."""
        if self.process.poll() is None:
            self._signal(signal.SIGHUP)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self.process.wait()
        if self._master >= 0:
            os.write(self._wake_write, b"x")
            self._thread.join()
            for number in (self._master, self._wake_read, self._wake_write):
                os.close(number)
            self._master = -1

    def __enter__(self) -> "PtyTerminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return

    def _wait_until_read(self) -> None:
        """Wait until the program has read what was typed: text and Enter in one read are a paste."""
        slave = os.open(self._slave, os.O_RDWR | os.O_NOCTTY)
        try:
            end = time.monotonic() + WAIT_SECONDS
            while select.select([slave], [], [], 0)[0] and self.process.poll() is None:
                assert time.monotonic() < end, "the program does not read what was typed"
                time.sleep(PERSON_S)
        finally:
            os.close(slave)

    def _send(self, text: str) -> None:
        data = text.encode()
        while data:
            try:
                data = data[os.write(self._master, data) :]
            except OSError:  # the program is gone
                return

    def _read(self) -> None:
        while self._master in select.select([self._master, self._wake_read], [], [])[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # Linux returns EIO when the other side has been closed
                data = b""
            if not data:
                break
            with self._lock:
                self.output += data
                self.terminal.write(self._decoder.decode(data))
                self._lock.notify_all()
        with self._lock:
            self._ended = True
            self._lock.notify_all()


def run_in_terminal(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    columns: int = 80,
    rows: int = 24,
    *,
    cwd: Path | None = None,
    answers: bool | Answers = True,
    habits: Habits | None = None,
    forks: ForkServer | None = None,
) -> PtyTerminal:
    """Start a program in a terminal of that size; `env` is added to the environment."""
    return PtyTerminal(argv, env, columns, rows, cwd=cwd, answers=answers, habits=habits, forks=forks)


def _reset_hangup_signal() -> None:
    """Children inherit ignored signals: under nohup, no window could be closed."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def set_size(number: int, columns: int, rows: int) -> None:
    fcntl.ioctl(number, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
