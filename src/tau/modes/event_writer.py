"""Writes events as JSON lines, batching those of one event loop turn."""

import asyncio
from collections.abc import Callable

from tau.agent.events import AgentEvent
from tau.base.errors import TauError
from tau.base.sizes import KIB
from tau.modes.event_json import EventEncoder
from tau.modes.output_stream import OutputStream

BATCH_BYTES = 256 * KIB


class EventWriter:
    """Calls `on_gone` when the reader is gone or cannot be written to."""

    def __init__(self, out: OutputStream, encoder: EventEncoder, on_gone: Callable[[], None]) -> None:
        self._out = out
        self._encoder = encoder
        self._on_gone = on_gone
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self.failure: TauError | None = None

    @property
    def gone(self) -> bool:
        return self._out.gone or self.failure is not None

    def event(self, event: AgentEvent) -> None:
        for pieces in self._encoder.lines_in_pieces(event):
            self.line(*pieces)

    def line(self, *pieces: bytes) -> None:
        """A line, including its end."""
        if not self._batch:
            asyncio.get_running_loop().call_soon(self.flush)
        self._batch += pieces
        self._batch_bytes += sum(map(len, pieces))
        if self._batch_bytes > BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if self.failure is None:
            try:
                self._out.write_all(batch)
            except TauError as error:
                self.failure = error
        if self.gone:
            self._on_gone()
