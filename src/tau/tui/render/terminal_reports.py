"""Passes terminal reports on to the application."""

from collections.abc import Callable

from tau.tui.input.key import InputEvent
from tau.tui.terminal.port import Background


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
