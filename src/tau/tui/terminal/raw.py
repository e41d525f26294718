"""Raw mode of a tty: every key arrives as it is pressed, and the settings can be restored."""

import contextlib
import os
import signal
import termios
from collections.abc import Iterator
from typing import Any

Attributes = list[Any]

_IFLAG, _OFLAG, _CFLAG, _LFLAG, _CC = 0, 1, 2, 3, 6


def enter_raw(fd: int) -> Attributes | None:
    """Switch to raw mode; returns the previous settings, or None if this is not a tty.

    Earlier input stays readable. Output settings do not change. Ctrl+C and Ctrl+Z arrive as keys.
    """
    try:
        before = termios.tcgetattr(fd)
        raw = termios.tcgetattr(fd)
        raw[_IFLAG] &= ~(
            termios.BRKINT
            | termios.ICRNL
            | termios.INLCR
            | termios.IGNCR
            | termios.INPCK
            | termios.ISTRIP
            | termios.IXON
        )
        raw[_CFLAG] = (raw[_CFLAG] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
        raw[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        raw[_CC] = list(raw[_CC])
        raw[_CC][termios.VMIN] = 1
        raw[_CC][termios.VTIME] = 0
        with _from_background():
            termios.tcsetattr(fd, termios.TCSANOW, raw)
    except termios.error:
        return None
    return before


def leave_raw(fd: int, before: Attributes) -> None:
    """Restore the settings and drop unread input such as late answers and key releases.

    Do not wait for output: a terminal that does not read must not block us. A background process leaves the
    settings to the shell.
    """
    if not _in_foreground(fd):
        return
    with contextlib.suppress(termios.error), _from_background():
        termios.tcflush(fd, termios.TCIFLUSH)
        termios.tcsetattr(fd, termios.TCSANOW, before)


def erase_character(attributes: Attributes | None) -> str:
    """Return what Backspace sends, according to the tty."""
    if attributes is None:
        return "\x7f"
    erase = attributes[_CC][termios.VERASE]
    return "\x08" if erase == b"\x08" else "\x7f"


def _in_foreground(fd: int) -> bool:
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return True  # not our controlling terminal: no foreground group


@contextlib.contextmanager
def _from_background() -> Iterator[None]:
    """Ignore SIGTTOU: changing a tty from the background would stop the process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
