"""Schedules frames: batches requests, with a pause between ordinary ones; keys draw at once."""

from collections.abc import Callable

from tau.tui.timer import Handle, Timer

MIN_INTERVAL_S = 0.033


class Schedule:
    """Calls `draw` on request; it has no timer while idle."""

    def __init__(
        self, timer: Callable[[], Timer], draw: Callable[[], None], min_interval_s: float = MIN_INTERVAL_S
    ) -> None:
        self._timer = timer
        self._draw = draw
        self._min_interval_s = min_interval_s
        self._handle: Handle | None = None
        self._urgent = False
        self._held = True
        self._wanted = False
        self._last = float("-inf")

    def request(self, *, urgent: bool = False) -> None:
        """Request a frame: in the next loop iteration if urgent, else after the pause."""
        if self._held:
            self._wanted = True
            self._urgent = self._urgent or urgent
            return
        if self._handle is not None:
            if not urgent or self._urgent:
                return
            self._handle.cancel()
        self._urgent = urgent
        timer = self._timer()
        pause = 0.0 if urgent else self._last + self._min_interval_s - timer.time()
        self._handle = timer.call_later(pause, self._run) if pause > 0 else timer.call_soon(self._run)

    def hold(self) -> None:
        """Pause drawing until `release`; requests are remembered."""
        self._held = True
        self._wanted = self._wanted or self._handle is not None
        self._cancel()

    def release(self) -> None:
        """Resume drawing, with requests made meanwhile."""
        if self._held:
            self._held = False
            if self._wanted:
                urgent, self._urgent = self._urgent, False
                self.request(urgent=urgent)

    def drawn(self) -> None:
        """Note that a frame was drawn: no request is pending."""
        self._cancel()
        self._wanted = self._urgent = False
        self._last = self._timer().time()

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self) -> None:
        self._handle = None
        self._draw()
