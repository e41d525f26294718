"""A progress line: spinner, message, elapsed time, and how to stop the work."""

from collections.abc import Callable, Sequence

from tau.tui.component import CachedComponent, Component, LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.timer import Handle, Timer

INTERVAL_S = 0.08


class Loader(CachedComponent, LiveComponent):
    """One row shown during work. It ticks only between `start` and `stop`, and only if motion is allowed.

    `request_render` gets this component: nothing else on the screen changes when the spinner turns.
    """

    def __init__(
        self,
        theme: Theme,
        message: str = "Working",
        *,
        timer: Timer,
        request_render: Callable[[Component], None],
        show_elapsed: bool = False,
    ) -> None:
        self._theme = theme
        self._timer = timer
        self._request_render = request_render
        self._show_elapsed = show_elapsed
        self._message = clean_line(message)
        self._detail = ""
        self._frame = 0
        self._started: float | None = None
        self._elapsed_s = 0.0
        self._handle: Handle | None = None

    @property
    def message(self) -> str:
        return self._message

    @message.setter
    def message(self, text: str) -> None:
        text = clean_line(text)
        if text != self._message:
            self._message = text
            self._notify_change()

    @property
    def detail(self) -> str:
        """A short text after the message, such as a token count."""
        return self._detail

    @detail.setter
    def detail(self, text: str) -> None:
        text = clean_line(text)
        if text != self._detail:
            self._detail = text
            self._notify_change()

    @property
    def running(self) -> bool:
        return self._started is not None

    @property
    def elapsed_s(self) -> float:
        """Time since `start`; after `stop`, the total."""
        return self._elapsed_s if self._started is None else self._timer.time() - self._started

    def start(self) -> None:
        """Start or restart."""
        self._started = self._timer.time()
        self._frame = 0
        self._notify_change()
        self._wait()

    def stop(self) -> None:
        """Stop ticking; may be called at any time and repeatedly."""
        if self._started is not None:
            self._elapsed_s = self._timer.time() - self._started
            self._started = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._rows = None

    def invalidate(self) -> None:
        self._rows = None
        if self._handle is None and self.running:
            self._wait()  # motion may be allowed now

    def _render_rows(self, width: int) -> list[str]:
        return [text] if (text := self._fit_notes(width)) else []

    @property
    def _moves(self) -> bool:
        return self._theme.motion and not self._theme.linear

    def _wait(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._timer.call_later(INTERVAL_S, self._tick) if self._moves else None

    def _tick(self) -> None:
        self._handle = None
        if not self.running:
            return
        self._frame += 1
        self._notify_change()
        self._wait()

    def _notify_change(self) -> None:
        self._rows = None
        self._request_render(self)

    def _fit_notes(self, width: int) -> str:
        """On a narrow screen, drop notes: the tip first, the stop key last."""
        elapsed = format_elapsed(self.elapsed_s) if self._show_elapsed and self.elapsed_s >= 1 else ""
        hint, tip, text = self.hint_text(), self.tip_text(), ""
        detailed = (elapsed, self._detail, hint)
        for notes in ((*detailed, tip), detailed, (elapsed, hint), (hint,), ()):
            text = self._text([note for note in notes if note])
            if visible_width(text) <= width:
                return text
        return truncate(text, width, self._theme.symbols.ellipsis)

    def _text(self, notes: Sequence[str]) -> str:
        theme = self._theme
        tail = theme["dim"](f" ({', '.join(notes)})") if notes else ""
        message = theme["muted"](self._message)
        frames = theme.symbols.spinner
        if theme.linear or not self.running or not frames:
            return message + tail
        frame = frames[self._frame % len(frames)] if self._moves else frames[0]
        return f"{theme['spinner'](frame)} {message}{tail}"

    def hint_text(self) -> str:
        """Return the last note after the message, such as the key that stops the work."""
        return ""

    def tip_text(self) -> str:
        """Return what else a key can do, if there is room for it."""
        return ""


class CancellableLoader(Loader):
    """A loader with a key that stops the work: `on_abort` is called once."""

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        message: str = "Working",
        *,
        timer: Timer,
        request_render: Callable[[Component], None],
        on_abort: Callable[[], None] | None = None,
        show_elapsed: bool = False,
    ) -> None:
        super().__init__(
            theme, message, timer=timer, request_render=request_render, show_elapsed=show_elapsed
        )
        self._keys = keys
        self.on_abort = on_abort
        self.aborted = False

    def start(self) -> None:
        self.aborted = False
        super().start()

    def dispose(self) -> None:
        """Called by what shows it as a part of the screen."""
        self.stop()

    def handle_input(self, event: InputEvent) -> bool:
        if not self.running or not self._keys.matches(event, "tui.select.cancel"):
            return False
        if not self.aborted:
            self.aborted = True
            self._notify_change()
            if self.on_abort is not None:
                self.on_abort()
        return True

    def hint_text(self) -> str:
        if self.aborted:
            return "stopping"
        label = self._keys.label("tui.select.cancel")
        return f"{label} stops it" if self.running and label else ""


def format_elapsed(seconds: float) -> str:
    """Format a duration: 7 s, 2 min 05 s, 1 h 03 min."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
