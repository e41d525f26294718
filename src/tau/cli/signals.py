"""Ctrl+C, TERM and hangup: the first one stops the work and has it recorded, the next one ends the program.

A signal is noticed between two steps of the interpreter and not in the event loop, so that it counts also
when the loop is stuck, as in a write to a pipe that nobody empties.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

PATIENCE_S = 2.0  # for a run to record what it has
LAST_CHANCE = 3  # so many signals without an answer, and we are gone at once


class Signals:
    """Use as a context around the work, inside its task.

    `stop` is called at the first signal, `interrupt` at every Ctrl+C; while there is no `stop`, the task is
    cancelled. `code` is the exit code that a signal asks for.
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
            # nohup, and a shell that starts us in the background, have a signal ignored: it stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._timer is not None:
            self._timer.cancel()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self._unanswered += 1
        if self._unanswered >= LAST_CHANCE:
            os._exit(128 + number)
        self._loop.call_soon_threadsafe(self._answer, number)

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
