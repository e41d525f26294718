"""Output that a slow reader does not block: a thread writes it."""

import asyncio
import os
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from tau.base.errors import TauError
from tau.base.sizes import MIB
from tau.modes.output_stream import OutputStream

MAX_WAITING_BYTES = 64 * MIB
CLOSE_TIMEOUT_S = 5.0


class QueuedOutput(OutputStream):
    """A program may send a long command before it reads our answers: then both sides would wait forever.

    When the reader is too far behind, `write` waits for it. `on_over` is called in the event loop when the
    reader is gone or cannot be written to.
    """

    def __init__(self, fd: int, on_over: Callable[[], None]) -> None:
        super().__init__(fd)
        self._on_over = on_over
        self._loop = asyncio.get_running_loop()
        self._queue: list[bytes] = []
        self._waiting_bytes = 0  # in the queue
        self._written_bytes = 0  # by the write that is going on
        self._changed = threading.Condition()
        self._closed = False
        self._failure: TauError | None = None
        self._thread = threading.Thread(target=self._work, name="rpc output", daemon=True)
        self._thread.start()
        if stat.S_ISFIFO(os.fstat(fd).st_mode):  # its end to write to is readable when nobody reads
            self._loop.add_reader(fd, self._leave)

    def write_all(self, pieces: Sequence[bytes]) -> None:
        with self._changed:
            while self._waiting_bytes + self._written_bytes > MAX_WAITING_BYTES and not self._is_over:
                self._changed.wait()
            if self._failure is not None:
                raise self._failure
            if not self.gone:
                self._queue.extend(pieces)
                self._waiting_bytes += sum(map(len, pieces))
                self._changed.notify_all()

    def close(self) -> None:
        """Write what is left, unless the reader has stopped reading."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(CLOSE_TIMEOUT_S)

    def _leave(self) -> None:
        self._loop.remove_reader(self.fd)
        self._on_over()  # `gone` is left to the next write: after the end of the input, this is no failure

    @property
    def _is_over(self) -> bool:
        return self.gone or self._failure is not None

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if not self._queue:
                    return
                pieces, self._queue = self._queue, []
                self._written_bytes, self._waiting_bytes = self._waiting_bytes, 0
            try:
                super().write_all(pieces)
            except TauError as error:
                self._failure = error
            with self._changed:
                self._written_bytes = 0
                self._changed.notify_all()
            if self._is_over:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._on_over)
                return
