"""When frames are drawn: requests are gathered, ordinary ones with a pause between, keys at once."""

from collections.abc import Callable

from tau.tui.timer import Handle, Timer

MIN_INTERVAL_S = 0.033


class Schedule:
    """Calls `draw` for requests. Without one it holds no timer at all."""

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
        """A frame is wanted: at the next turn of the loop if it is urgent, else after the pause."""
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
        """Draw nothing until `release`; requests are remembered."""
        self._held = True
        self._wanted = self._wanted or self._handle is not None
        self._cancel()

    def release(self) -> None:
        """Go on; what was asked for meanwhile is drawn."""
        if self._held:
            self._held = False
            if self._wanted:
                urgent, self._urgent = self._urgent, False
                self.request(urgent=urgent)

    def drawn(self) -> None:
        """A frame was drawn, by whomever: nothing is waiting any more."""
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
