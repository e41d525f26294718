"""Ctrl+C, TERM and hangup: the first stops and records the run, the next one exits.

Signals are handled between interpreter steps, not in the event loop, so they work even when the loop
is stuck, such as in a write to a full pipe.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

PATIENCE_S = 2.0  # for a run to save its progress
LAST_CHANCE = 3  # exit at once after this many unanswered signals


class Signals:
    """Use as a context around the work, inside its task.

    `stop` is called at the first signal, `interrupt` at every Ctrl+C; without a `stop`, the task is
    cancelled. `code` is the exit code for the signal.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self.stop: Callable[[], None] | None = None
        self.interrupt: Callable[[], None] | None = None
        self._unanswered = 0
        self._before: dict[int, Any] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()

    def __enter__(self) -> "Signals":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Keep signals ignored that nohup, or a shell that starts us in the background, ignores.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before if self.code is None else self._leave)
        if self._timer is not None:
            self._timer.cancel()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self._unanswered += 1
        if self._unanswered >= LAST_CHANCE:
            os._exit(128 + number)
        self._loop.call_soon_threadsafe(self._answer, number)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        """Exit at once: a signal has ended the work, and all of it is saved."""
        os._exit(self.code or 128 + number)

    def _answer(self, number: int) -> None:
        self._unanswered = 0
        if number == signal.SIGINT and self.interrupt is not None:
            self.interrupt()
            return
        first = self.code is None
        self.code = self.code or 128 + number
        if first and self.stop is not None:
            self._timer = self._loop.call_later(PATIENCE_S, self._cancel)
            self.stop()
        else:
            self._cancel()

    def _cancel(self) -> None:
        assert self._task is not None
        self._task.cancel()
