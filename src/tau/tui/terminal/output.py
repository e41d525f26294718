"""Writes bytes to the terminal: completely, in order, and without blocking on a slow reader."""

import os
import time
from collections.abc import Callable
from typing import Protocol

from tau.base.late import late
from tau.tui.timer import Timer

select = late("select")

MAX_BACKLOG_BYTES = 8 * 1024 * 1024
"""If more is buffered, a write blocks: the terminal sets the pace."""
_CHUNK_BYTES = 64 * 1024
_LAST_WAIT_S = 0.1


class TerminalLoop(Timer, Protocol):
    """The parts of an asyncio loop that the terminal uses."""

    def add_reader(self, fd: int, callback: Callable[..., object], /) -> object: ...
    def remove_reader(self, fd: int, /) -> bool: ...
    def add_writer(self, fd: int, callback: Callable[..., object], /) -> object: ...
    def remove_writer(self, fd: int, /) -> bool: ...
    def add_signal_handler(self, sig: int, callback: Callable[..., object], /) -> object: ...
    def remove_signal_handler(self, sig: int, /) -> bool: ...


class TerminalOutput:
    """Buffers what cannot be written at once and sends it when the terminal reads again.

    It opens the tty a second time for non-blocking writes: setting O_NONBLOCK on the inherited descriptor
    would affect every program that shares it.
    """

    def __init__(self, fd: int, loop: TerminalLoop | None, on_gone: Callable[[], None]) -> None:
        self._inherited_fd = fd
        self._loop = loop
        self._on_gone = on_gone
        self._own_fd = _opened_again(fd) if loop is not None else None
        self._fd = fd if self._own_fd is None else self._own_fd
        self._waiting: list[memoryview] = []
        self._writer_added = False
        self.gone = False
        self.backlog = 0
        """How many bytes are buffered."""

    def write(self, data: bytes) -> None:
        """Write now or as soon as possible; does nothing once the terminal is gone."""
        if self.gone or not data:
            return
        self._waiting.append(memoryview(data))
        self.backlog += len(data)
        if not self._writer_added:
            self._push()
        if self.backlog and (self._loop is None or self.backlog > MAX_BACKLOG_BYTES):
            self.flush(None, down_to=0 if self._loop is None else MAX_BACKLOG_BYTES // 2)

    def flush(self, still_s: float | None, total_s: float | None = None, *, down_to: int = 0) -> bool:
        """Wait until at most `down_to` bytes are buffered.

        False if there was no progress for `still_s`, or it was not done after `total_s`.
        """
        end = None if total_s is None else time.monotonic() + total_s
        while self.backlog > down_to and not self.gone:
            _, ready, _ = select.select([], [self._fd], [], still_s)
            if not ready or (end is not None and time.monotonic() > end):
                return False
            self._push()
        return not self.gone

    def write_final(self, data: bytes) -> None:
        """Write the final bytes of a process that a signal ends, perhaps in the middle of a write."""
        if self.backlog:
            data = b"\x18" + data  # CAN: the terminal discards an unfinished sequence
        while data and not self.gone:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                if not select.select([], [self._fd], [], _LAST_WAIT_S)[1]:
                    return
            except OSError:
                return

    def close(self) -> None:
        """Close and drop buffered bytes."""
        self._remove_writer()
        self._waiting, self.backlog = [], 0
        if self._own_fd is not None:
            os.close(self._own_fd)
            self._own_fd = None
        self._fd = self._inherited_fd
        self.gone = True

    def _push(self) -> None:
        """Write as much as the terminal accepts."""
        while self._waiting:
            data = self._waiting[0]
            try:
                written = os.write(self._fd, data[:_CHUNK_BYTES])
            except BlockingIOError:
                break
            except OSError:
                self._lost()
                return
            self.backlog -= written
            if written == len(data):
                del self._waiting[0]
            else:
                self._waiting[0] = data[written:]
        if self._waiting:
            self._add_writer()
        else:
            self._remove_writer()

    def _add_writer(self) -> None:
        if self._loop is not None and not self._writer_added:
            self._loop.add_writer(self._fd, self._push)
            self._writer_added = True

    def _remove_writer(self) -> None:
        if self._loop is not None and self._writer_added:
            self._loop.remove_writer(self._fd)
            self._writer_added = False

    def _lost(self) -> None:
        self._remove_writer()
        self._waiting, self.backlog = [], 0
        self.gone = True
        self._on_gone()


def _opened_again(fd: int) -> int | None:
    """Reopen the tty in non-blocking mode; None if that fails."""
    try:
        name = os.ttyname(fd)
        again = os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    if os.fstat(again).st_rdev == os.fstat(fd).st_rdev:
        return again
    os.close(again)
    return None
