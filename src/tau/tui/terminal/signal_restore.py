"""Restores the terminal when a signal ends the process."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


class SignalRestore:
    """Calls `restore` before a signal ends the process; existing handlers still run."""

    def __init__(self, restore: Callable[[], None]) -> None:
        self._restore = restore
        self._pid = os.getpid()
        self._before: dict[int, Any] = {}

    def watch(self) -> None:
        """Install the handlers. Does nothing outside the main thread, where signals cannot be handled."""
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before is None or before == signal.SIG_IGN:
                continue
            try:
                signal.signal(number, self._on_signal)
            except ValueError:
                return
            self._before[number] = before

    def unwatch(self) -> None:
        """Restore the previous handlers, unless they were replaced meanwhile."""
        before, self._before = self._before, {}
        for number, previous in before.items():
            try:
                if signal.getsignal(number) == self._on_signal:
                    signal.signal(number, previous)
            except ValueError:
                return

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        previous = self._before.get(number, signal.SIG_DFL)
        if callable(previous):
            # It may end the process later, stopping the terminal itself; or it raises.
            try:
                previous(number, frame)
            except BaseException:
                self._restore_once()
                raise
            return
        self._restore_once()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _restore_once(self) -> None:
        if os.getpid() == self._pid:  # a forked child must not touch the terminal
            self._restore()
