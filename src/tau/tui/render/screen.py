"""The screen: a tree of components on a terminal, with focus, overlays and keys.

What was drawn is in `Screen.stats`, for tests and for whoever wonders:

- `composed`, `frames`, `bytes`, `last_bytes`: frames composed; frames that wrote something; bytes written in
  all and by the last frame.
- `emitter` of the last frame: "full", "scroll" (scroll and append), "diff" (in the window), "seam" (rows for
  the history, then the window), "cursor" (only moved), "none" (no byte).
- `intent`: why. "first" (nothing of ours is on the terminal: paint from the shell's cursor on, clear
  nothing), "full" (another session), "resize", "force" (every row of the window), "update".
- `ledger`: `committed` (C), `window_top` (W), `boundary` (B), `length` (L) after the last frame.
- `chunk_start`: rows [chunk_start, C) of the frame entered the history with the last frame.

The rules, beyond those of `ledger.py`:

- The history is never erased, on no terminal and by no gesture: it also holds what others wrote before.
- Overlays freeze commits in ordinary frames, not in full paints, which write the record before the window.
- A full paint starts the ledger anew: W = max(0, L - height), C = min(B, W). The rows [0, C) are written to
  the history, below what it holds.
- A changed size leads to W = max(K, L - height) and C = max(K, min(B, W)); rows [K, C) are written to the
  history. K is the old C, less what was committed while the new size may not have been told yet; after a
  change of width, the row of the new frame from which on all text stands that is not above the window
  (`anchor.py`). Rows that a higher terminal took back from its history stay above the window as the shell's
  lines do. Rows from K on may stand twice from then on, for the terminal may have pushed rows of the window
  into its history; none is lost. Whoever checks it takes K and C from `chunk_start` and `ledger`.
- A frame that shrank to L <= C has C = min(B, W) and writes nothing to the history, unless its rows are other
  ones than those committed (`audit.py`): these are written.
- `stop` and `suspend` count the rows they keep as committed (never beyond B); `start` and `resume` go on
  there.
"""

from collections.abc import Callable

from tau.base.late import late
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.render.frame_loop import FrameLoop, FrameStats
from tau.tui.render.overlays import Overlay, OverlayOptions
from tau.tui.render.paint import KeepRows
from tau.tui.render.routing import CONSUMED, Consumed, InputListener, Routing
from tau.tui.render.terminal_reports import TerminalReports
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.timer import Timer
from tau.tui.widgets.container import Container

__all__ = ["CONSUMED", "Consumed", "FrameStats", "Overlay", "OverlayOptions", "Screen"]

asyncio = late("asyncio")


class Screen(TerminalReports):
    """What the application holds. It implements `terminal.port.Watcher`.

    Children are added to `root`; whoever changes one asks for a render. Keys lead to one by themselves.
    """

    def __init__(
        self, terminal: Terminal, *, theme: Theme, timer: Timer | None = None, hardware_cursor: bool = True
    ) -> None:
        super().__init__()
        self.terminal = terminal
        self.theme = theme
        self.root = Container()
        self._timer = timer
        self._routing = Routing(lambda: self._stage.size(), lambda: self._stage.request(urgent=True))
        self._stage = FrameLoop(
            terminal,
            lambda: self.root.children,
            self._routing.overlays,
            self._time,
            is_linear=theme.linear,
            hardware_cursor=hardware_cursor,
        )
        self.forget_rows = self._stage.forget
        """The first component drops so many rows at its top, all of them committed (`stats.ledger`): the
        terminal's history keeps them, and a later full paint begins behind them."""
        self.keep_record = self._stage.keep_record
        """Another record will take the place of this one, whose rest is written out; it begins below."""

    @property
    def stats(self) -> FrameStats:
        return self._stage.stats

    @property
    def focused(self) -> Component | None:
        """Who gets the keys."""
        return self._routing.focused

    def start(self) -> None:
        """Take the terminal and paint, from the row of the cursor on."""
        if not self._stage.running:
            self.terminal.start(self)
            self._stage.begin()

    def stop(self, keep: KeepRows = "content") -> None:
        """Give the terminal back: the shell goes on below what is kept.

        By default the rows of the record stay (all of the component that has the seam, with hidden rows
        written out) and what is below them, editor and status lines, is cleared. Without a seam all stay.
        """
        if self._stage.running:
            self._stage.end(keep)
            self.terminal.stop()

    def suspend(self) -> None:
        """Give the terminal away for a while, to the shell or to an editor; only final rows stay on it."""
        self.stop("final")

    def resume(self) -> None:
        """Take it back. The history is as it was; what was not final is painted from the cursor on."""
        self.start()

    def request_render(self, *, force: bool = False, anew: bool = False) -> None:
        """Draw soon. `force`: at once and every row of the window; `anew`: all rows, also those that the
        history holds, which keeps the old ones above them."""
        self._stage.request(force=force, anew=anew)

    def render_component(self, component: Component) -> None:
        """Draw soon; nothing but this component has changed."""
        self._stage.request_for(component)

    def render_now(self) -> None:
        """Draw at once, whatever has been asked for."""
        self._stage.draw()

    def focus(self, component: Component | None) -> None:
        """Who gets the keys from now on."""
        self._routing.focus(component)
        self._stage.request(urgent=True)

    def show_overlay(self, component: Component, options: OverlayOptions | None = None) -> Overlay:
        """Put a component over the others. It gets the keys until it is hidden, if its options say so."""
        return self._routing.show(component, options or OverlayOptions())

    def listen(self, listener: InputListener) -> Callable[[], None]:
        """See every event first; call what is returned to end it."""
        return self._routing.listen(listener)

    def invalidate(self) -> None:
        """The theme changed: what was cached is forgotten and the window drawn anew; the history stays."""
        self.root.invalidate()
        for overlay in self._routing.overlays:
            overlay.component.invalidate()
        self._stage.request(force=True)

    def reset_display(self) -> None:
        """A gesture of the user who sees a mess: the window is written anew; the history stays."""
        self._stage.request(force=True, astray=True)

    def on_input(self, events: list[InputEvent]) -> None:
        for event in events:
            if not self._routing.dispatch(event) and self.on_unhandled is not None:
                self.on_unhandled(event)
        self._stage.request(urgent=True)

    def on_resize(self) -> None:
        self._stage.resized()

    def on_capabilities(self) -> None:
        self._stage.request()

    def on_closed(self) -> None:
        """Nothing can be shown any more: no byte is written from here on."""
        self._stage.end(None)
        super().on_closed()

    def _time(self) -> Timer:
        if self._timer is None:
            self._timer = asyncio.get_running_loop()
        return self._timer
