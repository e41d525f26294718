"""Queued messages, and the key to edit them."""

from collections.abc import Sequence

from tau.modes.interactive.screen_protocols import Display
from tau.tui.component import CachedComponent, LiveComponent
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

MAX_ROWS = 5
_LOOKED_AT_CHARS = 1000


class PendingMessages(CachedComponent, LiveComponent):
    """One row per message; visible only while the queue is not empty."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._waiting: list[tuple[str, str]] = []

    def show(self, steering: Sequence[str], follow_ups: Sequence[str]) -> None:
        """Show queued messages: for the agent's next step, and for after it finishes."""
        display = self._display
        self._waiting = [("Next", text) for text in steering]
        self._waiting += [("Later", text) for text in follow_ups]
        self._rows = None
        box = display.layout.pending
        if bool(self._waiting) != bool(box.children):
            box.clear()
            if self._waiting:
                box.add(self)
        display.request_render()

    def clear(self) -> None:
        self.show((), ())

    def _render_rows(self, width: int) -> list[str]:
        theme = self._display.theme
        ellipsis = theme.symbols.ellipsis
        rows = [] if theme.linear else [""]
        for when, text in self._waiting[:MAX_ROWS]:
            words = clean_line(text[:_LOOKED_AT_CHARS])
            row = f"{theme['accent'](f'{when}:')} {theme['muted'](words)}"
            rows.append(truncate(row, width, ellipsis))
        more = len(self._waiting) - MAX_ROWS
        key = self._display.keys.label("app.message.dequeue")
        notes = [f"{more} more queued"] if more > 0 else []
        notes += [f"{key} edits the last one"] if key else []
        if notes:
            rows.append(truncate(theme["dim"]("; ".join(notes)), width, ellipsis))
        return rows
