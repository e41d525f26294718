"""The line that shows what is running, for how long, and which key stops it."""

from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display
from tau.tui.timer import Handle
from tau.tui.widgets.container import Spacer
from tau.tui.widgets.loader import Loader

INTERRUPT = "app.interrupt"
BACKGROUND = "app.jobs.background"
STOPPING = "Stopping"
LONG_S = 5.0
"""After this, a command is long enough to be moved to the background."""
_CHARS_PER_TOKEN = 4


class ActivityLine:
    """Shows the agent's activity (`begin`, `update`, `end`), or another one meanwhile (`show`, `hide`).

    Schedules nothing while idle.
    """

    def __init__(self, display: Display, current: CurrentSession) -> None:
        self._display = display
        self._current = current
        self._line: _Line | None = None
        self._others: dict[str, tuple[str, str]] = {}
        """Other activities and the actions that stop them; the last one is shown."""
        self._agent_text: str | None = None
        """The agent's activity; None while idle."""
        self._started_at = 0.0
        self._continues = False
        self._tokens = 0
        self._chars = 0
        self._next_chars = 0
        self._is_stopping = False
        self._movable_since = float("inf")
        self._retry_at = 0.0
        self._tick: Handle | None = None

    def show(self, text: str, *, stop_key_action: str = INTERRUPT, beside: str = "") -> None:
        """Show this until `hide`, whatever the agent does; `beside` names a concurrent activity."""
        if not self._others and self._agent_text is None:
            self._started_at = self._display.timer.time()
        self._others[beside] = (text, stop_key_action)
        self._draw()

    def hide(self, beside: str = "") -> None:
        """End an activity and show the remaining one."""
        self._others.pop(beside, None)
        if self._is_stopping and not self._current.running:
            self._is_stopping, self._agent_text = False, None
        self._draw()

    def begin(self, text: str) -> None:
        """The agent starts working, or continues after a failed attempt or compaction."""
        if not self._continues:
            self._agent_text = None
            self._tokens = self._chars = self._next_chars = 0
        self._is_stopping = False
        self.update(text)
        self._continues = False

    def update(self, text: str, *, can_move: bool = False) -> None:
        """Set the agent's current activity; `can_move`: to the background."""
        if can_move != (self._movable_since < float("inf")):
            self._movable_since = self._display.timer.time() if can_move else float("inf")
        self._stop_counting_down()
        if self._agent_text is None and not self._others and not self._continues:
            self._started_at = self._display.timer.time()
        self._agent_text = STOPPING if self._is_stopping else text
        self._draw()

    def continue_with(self, text: str) -> None:
        """Show a step between attempts, keeping the time and token counts."""
        self._continues = True
        self.update(text)

    def retry(self, delay_s: float, attempt: str, why: str = "") -> None:
        """Count down to a retry, such as "Retry 2 of 10"."""
        self._continues = True
        self._retry_at = self._display.timer.time() + delay_s
        self._count_down(attempt, why)

    def show_stopping(self, *, agent: bool = True) -> None:
        """Show that stopping was requested. Without `agent`, stop only the last concurrent activity."""
        beside = next(reversed(self._others), "")
        if not agent:
            if beside:
                self._others[beside] = (STOPPING, "")
                self._draw()
        elif self._agent_text is not None or self._others:
            self._others.pop("", None)
            self._is_stopping = True
            self.update(STOPPING)

    def end(self) -> None:
        """The agent is idle."""
        self._stop_counting_down()
        self._is_stopping = self._continues = False
        self._agent_text = None
        self._draw()

    def clear(self) -> None:
        """Nothing is running."""
        self._others.clear()
        self.end()

    def count_chars(self, chars: int) -> None:
        """Count received characters; the estimate is updated now and then."""
        self._chars += chars
        if self._chars >= self._next_chars and self._line is not None:
            self._show_tokens()

    def count_tokens(self, tokens: int) -> None:
        """A response is complete: replace the estimate with its token count."""
        self._tokens += tokens or self._chars // _CHARS_PER_TOKEN
        self._chars = 0
        self._show_tokens()

    def _show_tokens(self) -> None:
        tokens = self._tokens + self._chars // _CHARS_PER_TOKEN
        self._next_chars = self._chars + _CHARS_PER_TOKEN * (100 if tokens >= 1000 else 10)
        if self._line is not None and not self._display.theme.linear and tokens:
            self._line.detail = f"{short_count(tokens)} tokens"

    def _count_down(self, attempt: str, why: str) -> None:
        timer = self._display.timer
        left = max(round(self._retry_at - timer.time()), 0)
        self.update(f"{attempt} in {left} s{why}" if left else f"{attempt}{why}")
        if left and not self._display.theme.linear:
            self._tick = timer.call_later(1.0, self._count_down, attempt, why)

    def _stop_counting_down(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def _draw(self) -> None:
        display = self._display
        text, action = next(reversed(self._others.values()), (self._agent_text, INTERRUPT))
        if text is None:
            if self._line is not None:
                self._line.stop()
                self._line = None
                display.layout.activity.clear()
                display.request_render()
            return
        if self._line is None:
            self._line = _Line(display)
            display.layout.activity.add(*([] if display.theme.linear else [Spacer(1)]), self._line)
            self._line.start()
            display.request_render()
        self._line.started_at = self._started_at
        self._line.stop_action = action if text != STOPPING else ""
        self._line.movable_since = float("inf") if self._others or self._is_stopping else self._movable_since
        self._line.message = text
        if self._others:
            self._line.detail = ""
        else:
            self._show_tokens()


class _Line(Loader):
    """A loader whose clock can start earlier."""

    def __init__(self, display: Display) -> None:
        super().__init__(
            display.theme,
            "",
            timer=display.timer,
            request_render=display.screen.render_component,
            show_elapsed=not display.theme.linear,
        )
        self._display = display
        self.started_at = display.timer.time()
        self.stop_action = ""
        self.movable_since = float("inf")

    @property
    def elapsed_s(self) -> float:
        return self._display.timer.time() - self.started_at

    def hint_text(self) -> str:
        label = self._display.keys.label(self.stop_action)
        return f"{label} stops it" if label else ""

    def tip_text(self) -> str:
        label = self._display.keys.label(BACKGROUND)
        is_long = self._display.timer.time() - self.movable_since >= LONG_S
        return f"{label} moves it to the background" if label and is_long else ""


def short_count(number: int) -> str:
    """`950`, `1.2k`, `34k`, `1.5M`."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f}{unit}" if scaled >= 10 else f"{int(scaled * 10) / 10:g}{unit}"
    return str(number)
