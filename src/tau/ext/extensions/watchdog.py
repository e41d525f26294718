"""Notices extension code that holds the event loop, names it, and ends it."""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from tau.base import log

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension

from tau.ext.extensions.calls import stop_thread

NOTICE_S = 0.25
STOP_S = 2.0


class Watchdog:
    """A thread that runs only while extension code may run on the loop.

    `extensions` are looked up by the files of a stack. `blocked` gets the extension, its place in the code
    and whether it was ended; it is called on the loop.
    """

    def __init__(
        self,
        extensions: Callable[[], "Sequence[Extension]"],
        blocked: "Callable[[Extension, str, bool], None]",
    ) -> None:
        self._extensions = extensions
        self._blocked = blocked
        self._active = 0
        self._armed = threading.Event()
        self._closed = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ident = 0
        self._thread: threading.Thread | None = None
        self._has_stopped = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the loop inside this block."""
        if self._thread is None:
            self._loop, self._ident = asyncio.get_running_loop(), threading.get_ident()
            self._thread = threading.Thread(target=self._watch, name="tau-watchdog", daemon=True)
            self._thread.start()
        self._active += 1
        if self._active == 1:
            self._armed.set()
        try:
            yield
        finally:
            self._active -= 1
            if self._has_stopped:
                stop_thread(self._ident, None)  # what comes next is not the extension's
                self._has_stopped = False

    def close(self) -> None:
        self._closed.set()
        self._armed.set()

    def _watch(self) -> None:
        loop = self._loop
        assert loop is not None
        while True:
            self._armed.wait()
            if self._closed.is_set():
                return
            beat = threading.Event()
            try:
                loop.call_soon_threadsafe(beat.set)
            except RuntimeError:  # the loop is closed
                return
            if not beat.wait(NOTICE_S):
                self._on_still(loop, beat)
            if not self._active:
                self._armed.clear()
                self._rearm()
            self._closed.wait(NOTICE_S)

    def _rearm(self) -> None:
        if self._active:  # began just now
            self._armed.set()

    def _on_still(self, loop: asyncio.AbstractEventLoop, beat: threading.Event) -> None:
        frame = sys._current_frames().get(self._ident)  # noqa: SLF001
        extension, place = self._find(frame)
        if extension is None or frame is None:
            return
        stack = "".join(traceback.format_stack(frame))
        log.warning(f"The extension {extension.name} holds the event loop:\n{stack}")
        if beat.wait(STOP_S - NOTICE_S):
            loop.call_soon_threadsafe(self._blocked, extension, place, False)
            return
        again, place = self._find(sys._current_frames().get(self._ident))  # noqa: SLF001
        if again is not extension:
            return
        self._has_stopped = True
        stop_thread(self._ident)
        loop.call_soon_threadsafe(self._blocked, extension, place, True)
        beat.wait()

    def _find(self, frame: FrameType | None) -> "tuple[Extension | None, str]":
        """The extension whose code runs, and where; the innermost one."""
        while frame is not None:
            file = frame.f_code.co_filename
            for extension in self._extensions():
                if extension.owns(file):
                    return extension, f"{file}:{frame.f_lineno}"
            frame = frame.f_back
        return None, ""
