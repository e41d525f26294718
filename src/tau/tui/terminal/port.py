"""The terminal interface that the engine uses: write, size, and reports of keys and changes."""

from typing import Literal, NamedTuple, Protocol

from tau.tui.input.key import InputEvent

ImageProtocol = Literal["kitty", "iterm2", "sixel", "none"]
ColorDepth = Literal["truecolor", "256", "16", "none"]
Background = Literal["dark", "light"]


class Capabilities(NamedTuple):
    """What a terminal can do. A wrong value is cosmetic: correctness of rows never depends on it."""

    synchronized_output: bool = False
    multiplexer: bool = False
    """Inside tmux, screen or zellij, which report a resized pane late."""
    color_depth: ColorDepth = "256"
    hyperlinks: bool = False
    images: ImageProtocol = "none"
    kitty_placeholders: bool = False
    reflows: bool = True
    """Rewraps its content when the width changes; xterm, st, the Linux console and screen do not."""
    cursor_follows_text: bool = True
    """After rewrapping, the cursor is where it was in the text; in xterm.js it is lower by the rows that were
    added below it."""
    erases_marked_rows: bool = False
    """A resize erases what follows the last prompt mark, and these rows do not wrap: kitty and ghostty trust
    the shell to draw its prompt again."""
    reports_cursor: bool = False
    """It answers queries, so it can be asked where the cursor is."""
    round_trip_s: float = 0.0
    """How long the first answer took."""
    cell_pixels: tuple[int, int] = (9, 18)
    """Width and height of a cell, for image sizes."""


class Watcher(Protocol):
    """Receives terminal events. Called from the event loop, never during `write`."""

    def on_input(self, events: list[InputEvent]) -> None:
        """Handle all events of one read, in order."""
        ...

    def on_resize(self) -> None: ...
    def on_cursor(self, row: int, column: int) -> None:
        """The terminal reported where the cursor is, counted from 0."""
        ...

    def on_background(self, background: Background) -> None:
        """The terminal reported or changed its colors."""
        ...

    def on_focus(self, focused: bool) -> None: ...
    def on_capabilities(self) -> None:
        """A probe was answered and `capabilities` changed."""
        ...

    def on_closed(self) -> None:
        """The terminal is gone (hang-up or end of input): nothing can be shown."""
        ...


class Terminal(Protocol):
    """`start` and `stop` come in pairs and may be repeated (suspend and resume)."""

    @property
    def columns(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def start(self, watcher: Watcher) -> None: ...
    def stop(self) -> None:
        """Restore the terminal: cooked mode, all protocols off, the cursor visible."""
        ...

    def write(self, text: str) -> None:
        """Write text completely or not at all; never raises if the terminal is gone."""
        ...

    def suspend(self) -> None:
        """Stop the process like Ctrl+Z; returns, started again, when it is continued."""
        ...

    def set_title(self, text: str) -> None:
        """Set the window title until `stop`; does nothing without a window."""
        ...

    def use_alternate(self, on: bool) -> None:
        """Switch to the alternate screen, which has no history, or back."""
        ...

    def notify(self, title: str, body: str = "") -> None:
        """Show a notification using the terminal's protocol."""
        ...

    def copy(self, text: str) -> bool:
        """Copy text to the clipboard through the terminal; False if it is too long."""
        ...
