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
- Final rows belong to the terminal as soon as they are written, also those in the window. A changed size
  leads to C = B as of the last frame, and only the rows from there on are erased and written again. After a
  width change, that place is found in the new frame by its block and its letters (`rewrap.py`); if it is
  inside a row, the rest of that row is shown. Terminals that do not rewrap have cut rows that are now too
  wide: those on the screen are written again, from the first one on.
- While the record grows and nobody types, from a resize to the next key, and at a question without an edit
  point, the cursor is hidden in the first live row, and one is drawn at the edit point. A terminal keeps it
  there whatever it does above and below, so that a frame for an outdated size still erases and writes the
  right rows: all moves are relative, and wide rows are written once more, with autowrap on, when they become
  final. Otherwise the wrapped rows above the cursor are counted.
- A dialog that the user opened, and one that may not fit when the terminal gets smaller, is drawn on the
  alternate screen: a terminal pushes live rows that no longer fit into its history.
- xterm.js moves the cursor by rows that it wraps below it, so those are cut short while the record grows.
- A frame that shrank to L <= C has C = min(B, W) and writes nothing to the history, unless its rows differ
  from the committed ones (`audit.py`): then they are written.
- `stop` and `suspend` count the rows they keep as committed (never beyond B); `start` and `resume`
  continue there.
"""

from collections.abc import Callable
from functools import partial
from itertools import groupby

from tau.base.late import late
from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.render.frame_loop import DialogPlace, FrameLoop, FrameStats
from tau.tui.render.overlays import Overlay, OverlayOptions
from tau.tui.render.paint import KeepRows
from tau.tui.style import Theme
from tau.tui.terminal.port import Background, Terminal
from tau.tui.timer import Timer
from tau.tui.widgets.container import Container

asyncio = late("asyncio")


__all__ = ["CONSUMED", "Consumed", "FrameStats", "Overlay", "OverlayOptions", "Screen"]


class Consumed:
    """Returned by a listener to stop an event."""


CONSUMED = Consumed()
InputListener = Callable[[InputEvent], InputEvent | Consumed | None]
"""Returns the event or a replacement; None passes it unchanged."""


def join_typed(events: list[InputEvent]) -> list[InputEvent]:
    """Join characters that arrived in one read to a paste."""
    joined: list[InputEvent] = []
    for is_text, group in groupby(events, key=lambda event: isinstance(event, Key) and bool(event.text)):
        members = list(group)
        whole = is_text and len(members) > 1
        joined += [Paste("".join(event.text for event in members))] if whole else members
    return joined


class Routing:
    """Routes input: listeners first, then the focused component, then the application.

    Owns the focus and the stack of overlays. `changed` is called when an overlay changes.
    """

    def __init__(self, size: Callable[[], tuple[int, int]], changed: Callable[[], None]) -> None:
        self.overlays: list[Overlay] = []
        self.focused: Component | None = None
        self.alternate: Component | None = None
        """The component on the alternate screen, if any: it gets all keys, whatever has the focus below."""
        self._listeners: list[InputListener] = []
        self._size = size
        self._changed = changed

    def listen(self, listener: InputListener) -> Callable[[], None]:
        """Register a listener that sees every event first; call the result to remove it."""
        self._listeners.append(listener)

        def unlisten() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unlisten

    def focus(self, component: Component | None) -> None:
        if component is not self.focused:
            if self.focused is not None:
                self.focused.focused = False
            self.focused = component
            if component is not None:
                component.focused = True

    def show(self, component: Component, options: OverlayOptions) -> Overlay:
        overlay = Overlay(component, options, self._overlay_changed)
        overlay.focus_before = self.focused
        self.overlays.append(overlay)
        if options.takes_focus and overlay.shows_at(*self._size()):
            self.focus(component)
        self._changed()
        return overlay

    def dispatch(self, event: InputEvent) -> bool:
        """Route one event; False if nothing handled it."""
        for listener in tuple(self._listeners):
            answer = listener(event)
            if isinstance(answer, Consumed):
                return True
            if answer is not None:
                event = answer
        self.correct_focus()
        focused = self.alternate or self.focused
        if isinstance(event, Key) and event.kind == "release" and not (focused and focused.wants_releases):
            return True
        return focused is not None and focused.handle_input(event)

    def correct_focus(self) -> None:
        """Move the focus away from invisible components and to an overlay that wants it."""
        columns, rows = self._size()
        owner = next((item for item in self.overlays if item.component is self.focused), None)
        if owner is not None and owner.shows_at(columns, rows):
            return
        top = self._top(columns, rows)
        if owner is not None:
            self.focus(top.component if top is not None else self._beneath(owner))
        elif top is not None and self.focused is not None and self.focused is top.focus_before:
            # The overlay was hidden and is back; the focus has not moved meanwhile.
            self.focus(top.component)

    def _top(self, columns: int, rows: int) -> Overlay | None:
        for overlay in reversed(self.overlays):
            if overlay.options.takes_focus and overlay.shows_at(columns, rows):
                return overlay
        return None

    def _beneath(self, overlay: Overlay) -> Component | None:
        """Return the focus before this overlay, skipping hidden overlays under it."""
        component = overlay.focus_before
        by_component = {id(item.component): item for item in self.overlays}
        seen: set[int] = set()
        while component is not None and id(component) in by_component and id(component) not in seen:
            seen.add(id(component))
            component = by_component[id(component)].focus_before
        return component

    def _overlay_changed(self, overlay: Overlay) -> None:
        """Handle an overlay that was hidden, shown again, or closed."""
        if not overlay.hidden and not overlay.closed:
            if overlay.options.takes_focus and overlay.shows_at(*self._size()):
                if self.focused is not overlay.component:
                    overlay.focus_before = self.focused
                self.focus(overlay.component)
        else:
            self.correct_focus()
        if overlay.closed and overlay in self.overlays:
            self.overlays.remove(overlay)
            for other in self.overlays:
                if other.focus_before is overlay.component:
                    other.focus_before = overlay.focus_before
        self._changed()


class TerminalReports:
    """The non-drawing part of a watcher. The application sets its callbacks."""

    def __init__(self) -> None:
        self.background: Background | None = None
        """The background reported by the terminal, if any."""
        self.on_unhandled: Callable[[InputEvent], None] | None = None
        """Gets the keys that the focused component did not handle."""
        self.on_background_changed: Callable[[Background], None] | None = None
        self.on_focus_changed: Callable[[bool], None] | None = None
        self.on_terminal_closed: Callable[[], None] | None = None

    def on_background(self, background: Background) -> None:
        self.background = background
        if self.on_background_changed is not None:
            self.on_background_changed(background)

    def on_focus(self, focused: bool) -> None:
        if self.on_focus_changed is not None:
            self.on_focus_changed(focused)

    def on_closed(self) -> None:
        if self.on_terminal_closed is not None:
            self.on_terminal_closed()


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
        self._routing = Routing(
            lambda: self._frame_loop.size(), lambda: self._frame_loop.request(urgent=True)
        )
        self._frame_loop = FrameLoop(
            terminal,
            lambda: self.root.children,
            self._routing.overlays,
            self._time,
            is_linear=theme.linear,
            hardware_cursor=hardware_cursor,
        )
        self.forget_rows = self._frame_loop.forget
        """Call when the first component drops this many committed rows (`stats.ledger`) at its top: the
        terminal's history keeps them, and a later full paint begins after them."""
        self.set_dialog: Callable[[DialogPlace | None], None] = partial(setattr, self._frame_loop, "dialog")
        """Set where the open dialog belongs, or that there is none, for the next frame."""
        self.render_now = self._frame_loop.draw
        self.on_cursor = self._frame_loop.on_cursor
        self.flush_record = self._frame_loop.flush_record
        """Write out the rest of the record before another one replaces it below."""

    @property
    def stats(self) -> FrameStats:
        return self._frame_loop.stats

    @property
    def focused(self) -> Component | None:
        """The component that gets the keys."""
        return self._routing.alternate or self._routing.focused

    def start(self) -> None:
        """Take over the terminal and paint, starting at the cursor's row."""
        if not self._frame_loop.running:
            self.terminal.start(self)
            self._frame_loop.begin()

    def stop(self, keep: KeepRows = "content") -> None:
        """Hand the terminal back: the shell continues below the kept rows.

        By default the record stays (the whole component with the commit boundary, including hidden rows) and
        the rows below it, editor and status lines, are cleared. Without a boundary all rows stay.
        """
        if self._frame_loop.running:
            self._frame_loop.end(keep)
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
        self._frame_loop.request(force=force, full=full)

    def render_component(self, component: Component) -> None:
        """Draw soon; only this component has changed."""
        self._frame_loop.request_for(component)

    def focus(self, component: Component | None) -> None:
        """Give a component the focus."""
        self._routing.focus(component)
        self._frame_loop.request(urgent=True)

    def show_overlay(self, component: Component, options: OverlayOptions | None = None) -> Overlay:
        """Show a component over the others. It gets the keys until hidden, if its options say so."""
        return self._routing.show(component, options or OverlayOptions())

    def show_alternate(self, component: Component | None) -> None:
        """Show one component on the alternate screen, with all keys; None returns to the normal screen.

        The history gets nothing meanwhile; what arrives is drawn on return.
        """
        if component is not self._routing.alternate:
            if self._routing.alternate is not None:
                self._routing.alternate.focused = False
            self._routing.alternate = component
            if component is not None:
                component.focused = True
            self._frame_loop.show_alternate(component)

    def listen(self, listener: InputListener) -> Callable[[], None]:
        """Register a listener that sees every event first; call the result to remove it."""
        return self._routing.listen(listener)

    def invalidate(self) -> None:
        """Drop caches after a theme change and redraw the window; the history stays."""
        self.root.invalidate()
        for overlay in self._routing.overlays:
            overlay.component.invalidate()
        if self._routing.alternate is not None:
            self._routing.alternate.invalidate()
        self._frame_loop.request(force=True)

    def reset_display(self) -> None:
        """Redraw a garbled window at the user's request; the history stays."""
        self._frame_loop.request(force=True, cursor_lost=True)

    def on_input(self, events: list[InputEvent]) -> None:
        focused = self.focused
        if len(events) > 1 and focused is not None and not focused.takes_pasted_keys:
            events = join_typed(events)
        # Enter ends a message: what comes next is read, not written.
        is_writing = not (events and isinstance(events[-1], Key) and events[-1].name == "enter")
        self._frame_loop.typed_at = self._time().time() if is_writing else float("-inf")
        for event in events:
            if not self._routing.dispatch(event) and self.on_unhandled is not None:
                self.on_unhandled(event)
        self._frame_loop.request(urgent=True)

    def on_resize(self) -> None:
        self._frame_loop.resized()

    def on_capabilities(self) -> None:
        self._frame_loop.request()

    def on_closed(self) -> None:
        """Handle the loss of the terminal: write nothing from now on."""
        self._frame_loop.end(None)
        super().on_closed()

    def _time(self) -> Timer:
        if self._timer is None:
            self._timer = asyncio.get_running_loop()
        return self._timer
