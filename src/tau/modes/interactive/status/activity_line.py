"""The line that shows what is running, for how long, and which key stops it."""

from typing import TYPE_CHECKING

from tau.tui.timer import Handle
from tau.tui.widgets.loader import Loader
from tau.tui.widgets.spacer import Spacer

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display

INTERRUPT = "app.interrupt"
STOPPING = "Stopping"
_CHARS_PER_TOKEN = 4


class ActivityLine:
    """Shows the agent's activity (`begin`, `doing`, `end`), or another one meanwhile (`show`, `hide`).

    Schedules nothing while idle.
    """

    def __init__(self, display: "Display", current: "CurrentSession") -> None:
        self._display = display
        self._current = current
        self._line: _Line | None = None
        self._shown: dict[str, tuple[str, str]] = {}
        """Other activities and the actions that stop them; the last one is shown."""
        self._doing: str | None = None
        """The agent's activity; None while idle."""
        self._began = 0.0
        self._continues = False
        self._tokens = 0
        self._chars = 0
        self._next_chars = 0
        self._is_stopping = False
        self._retry_at = 0.0
        self._tick: Handle | None = None

    def show(self, text: str, *, stop_key_action: str = INTERRUPT, beside: str = "") -> None:
        """Show this until `hide`, whatever the agent does; `beside` names a concurrent activity."""
        if not self._shown and self._doing is None:
            self._began = self._display.timer.time()
        self._shown[beside] = (text, stop_key_action)
        self._draw()

    def hide(self, beside: str = "") -> None:
        """End an activity and show the remaining one."""
        self._shown.pop(beside, None)
        if self._is_stopping and not self._current.running:
            self._is_stopping, self._doing = False, None
        self._draw()

    def begin(self, text: str) -> None:
        """The agent starts working, or continues after a failed attempt or compaction."""
        if not self._continues:
            self._doing = None
            self._tokens = self._chars = self._next_chars = 0
        self._is_stopping = False
        self.doing(text)
        self._continues = False

    def doing(self, text: str) -> None:
        """Set the agent's current activity."""
        self._stop_counting_down()
        if self._doing is None and not self._shown and not self._continues:
            self._began = self._display.timer.time()
        self._doing = STOPPING if self._is_stopping else text
        self._draw()

    def goes_on(self, text: str) -> None:
        """Show a step between attempts, keeping the time and token counts."""
        self._continues = True
        self.doing(text)

    def retry(self, delay_s: float, attempt: str) -> None:
        """Count down to the next attempt."""
        self._continues = True
        self._retry_at = self._display.timer.time() + delay_s
        self._count_down(attempt)

    def stopping(self, *, agent: bool = True) -> None:
        """Show that stopping was requested. Without `agent`, stop only the last concurrent activity."""
        beside = next(reversed(self._shown), "")
        if not agent:
            if beside:
                self._shown[beside] = (STOPPING, "")
                self._draw()
        elif self._doing is not None or self._shown:
            self._shown.pop("", None)
            self._is_stopping = True
            self.doing(STOPPING)

    def end(self) -> None:
        """The agent is idle."""
        self._stop_counting_down()
        self._is_stopping = self._continues = False
        self._doing = None
        self._draw()

    def clear(self) -> None:
        """Nothing is running."""
        self._shown.clear()
        self.end()

    def heard(self, chars: int) -> None:
        """Count received characters; the estimate is updated now and then."""
        self._chars += chars
        if self._chars >= self._next_chars and self._line is not None:
            self._tell_tokens()

    def used(self, tokens: int) -> None:
        """A response is complete: replace the estimate with its token count."""
        self._tokens += tokens or self._chars // _CHARS_PER_TOKEN
        self._chars = 0
        self._tell_tokens()

    def _tell_tokens(self) -> None:
        tokens = self._tokens + self._chars // _CHARS_PER_TOKEN
        self._next_chars = self._chars + _CHARS_PER_TOKEN * (100 if tokens >= 1000 else 10)
        if self._line is not None and not self._display.theme.linear and tokens:
            self._line.detail = f"{short_count(tokens)} tokens"

    def _count_down(self, attempt: str) -> None:
        timer = self._display.timer
        left = max(round(self._retry_at - timer.time()), 0)
        self.doing(f"Retrying in {left} s, {attempt}" if left else f"Retrying, {attempt}")
        if left and not self._display.theme.linear:
            self._tick = timer.call_later(1.0, self._count_down, attempt)

    def _stop_counting_down(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def _draw(self) -> None:
        display = self._display
        text, action = next(reversed(self._shown.values()), (self._doing, INTERRUPT))
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
        self._line.began = self._began
        self._line.stop_action = action if text != STOPPING else ""
        self._line.message = text
        if self._shown:
            self._line.detail = ""
        else:
            self._tell_tokens()


class _Line(Loader):
    """A loader whose clock can start earlier."""

    def __init__(self, display: "Display") -> None:
        super().__init__(
            display.theme,
            "",
            timer=display.timer,
            request_render=display.screen.render_component,
            show_elapsed=not display.theme.linear,
        )
        self._display = display
        self.began = display.timer.time()
        self.stop_action = ""

    @property
    def elapsed_s(self) -> float:
        return self._display.timer.time() - self.began

    def hint_text(self) -> str:
        label = self._display.keys.label(self.stop_action)
        return f"{label} stops it" if label else ""


def short_count(number: int) -> str:
    """`950`, `1.2k`, `34k`, `1.5M`."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f}{unit}" if scaled >= 10 else f"{int(scaled * 10) / 10:g}{unit}"
    return str(number)
