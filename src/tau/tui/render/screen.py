"""The screen: a tree of components on a terminal, with focus, overlays and keys.

`Screen.stats` reports what was drawn, for tests and debugging:

- `composed`, `frames`, `bytes`, `last_bytes`: frames composed; frames that wrote something; bytes written in
  all and by the last frame.
- `emitter` of the last frame: "full", "scroll" (scroll and append), "diff" (in the window), "rewrite" (rows
  for the history, then the window), "cursor" (only moved), "none" (no byte).
- `intent`: why. "first" (nothing of ours is on the terminal: paint from the shell's cursor, clear
  nothing), "full" (a different session), "resize", "force" (every row of the window), "update".
- `ledger`: `committed` (C), `window_top` (W), `boundary` (B), `length` (L) after the last frame.
- `chunk_start`: rows [chunk_start, C) of the frame entered the history with the last frame.

The rules, beyond those of `ledger.py`:

- The history is never erased, on any terminal: it also has the output of other programs.
- Overlays freeze commits in ordinary frames, not in full paints, which write the record before the window.
- A full paint restarts the ledger: W = max(0, L - height), C = min(B, W). The rows [0, C) are written to
  the history, below its content.
- A changed size leads to W = max(K, L - height) and C = max(K, min(B, W)); rows [K, C) are written to the
  history. K is the old C, less what was committed before the new size may have been reported; after a
  width change, the row of the new frame where the text that is not above the window begins (`anchor.py`).
  Rows that a taller terminal pulled back from its history stay above the window like the shell's lines. Rows
  from K on may appear twice, since the terminal may have pushed window rows into its history; none is lost.
  Tests take K and C from `chunk_start` and `ledger`.
- A frame that shrank to L <= C has C = min(B, W) and writes nothing to the history, unless its rows differ
  from the committed ones (`audit.py`): then they are written.
- `stop` and `suspend` count the rows they keep as committed (never beyond B); `start` and `resume`
  continue there.
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
    """The application's screen. It implements `terminal.port.Watcher`.

    Add children to `root` and request a render after changing one. Keys request one automatically.
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
        """Call when the first component drops this many committed rows (`stats.ledger`) at its top: the
        terminal's history keeps them, and a later full paint begins after them."""
        self.flush_record = self._stage.flush_record
        """Write out the rest of the record before another one replaces it below."""

    @property
    def stats(self) -> FrameStats:
        return self._stage.stats

    @property
    def focused(self) -> Component | None:
        """The component that gets the keys."""
        return self._routing.focused

    def start(self) -> None:
        """Take over the terminal and paint, starting at the cursor's row."""
        if not self._stage.running:
            self.terminal.start(self)
            self._stage.begin()

    def stop(self, keep: KeepRows = "content") -> None:
        """Hand the terminal back: the shell continues below the kept rows.

        By default the record stays (the whole component with the commit boundary, including hidden rows) and
        the rows below it, editor and status lines, are cleared. Without a boundary all rows stay.
        """
        if self._stage.running:
            self._stage.end(keep)
            self.terminal.stop()

    def suspend(self) -> None:
        """Hand the terminal to the shell or an editor for a while; only final rows stay on it."""
        self.stop("final")

    def resume(self) -> None:
        """Take the terminal back. The history is unchanged; live rows are painted at the cursor."""
        self.start()

    def request_render(self, *, force: bool = False, full: bool = False) -> None:
        """Draw soon. `force`: at once, every window row; `full`: all rows again, below the old ones in the
        history."""
        self._stage.request(force=force, full=full)

    def render_component(self, component: Component) -> None:
        """Draw soon; only this component has changed."""
        self._stage.request_for(component)

    def render_now(self) -> None:
        """Draw immediately."""
        self._stage.draw()

    def focus(self, component: Component | None) -> None:
        """Give a component the focus."""
        self._routing.focus(component)
        self._stage.request(urgent=True)

    def show_overlay(self, component: Component, options: OverlayOptions | None = None) -> Overlay:
        """Show a component over the others. It gets the keys until hidden, if its options say so."""
        return self._routing.show(component, options or OverlayOptions())

    def listen(self, listener: InputListener) -> Callable[[], None]:
        """Register a listener that sees every event first; call the result to remove it."""
        return self._routing.listen(listener)

    def invalidate(self) -> None:
        """Drop caches after a theme change and redraw the window; the history stays."""
        self.root.invalidate()
        for overlay in self._routing.overlays:
            overlay.component.invalidate()
        self._stage.request(force=True)

    def reset_display(self) -> None:
        """Redraw a garbled window at the user's request; the history stays."""
        self._stage.request(force=True, cursor_lost=True)

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
        """Handle the loss of the terminal: write nothing from now on."""
        self._stage.end(None)
        super().on_closed()

    def _time(self) -> Timer:
        if self._timer is None:
            self._timer = asyncio.get_running_loop()
        return self._timer
