"""Messages that wait to be sent, and the key that takes them back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.tui.component import CachedComponent, LiveComponent
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

if TYPE_CHECKING:
    from tau.modes.interactive.ports import Display

MAX_ROWS = 5
_LOOKED_AT_CHARS = 1000


class PendingMessages(CachedComponent, LiveComponent):
    """One row for each message. It puts itself on the screen while something waits."""

    def __init__(self, display: "Display") -> None:
        self._display = display
        self._waiting: list[tuple[str, str]] = []

    def show(self, steering: Sequence[str], follow_ups: Sequence[str]) -> None:
        """What waits now: for the next step of the agent, and for its end."""
        display = self._display
        self._waiting = [("Next", text) for text in steering]
        self._waiting += [("Afterwards", text) for text in follow_ups]
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
            told = f"{theme['accent'](f'{when}:')} {theme['muted'](words)}"
            rows.append(truncate(told, width, ellipsis))
        more = len(self._waiting) - MAX_ROWS
        key = self._display.keys.label("app.message.dequeue")
        notes = [f"{more} more wait"] if more > 0 else []
        notes += [f"{key} takes the last one back"] if key else []
        if notes:
            rows.append(truncate(theme["dim"]("; ".join(notes)), width, ellipsis))
        return rows
