"""A watcher that records what it receives."""

from tau.tui.input.key import InputEvent, Key
from tau.tui.terminal.port import Background


class RecordingWatcher:
    """Implements `Watcher`."""

    def __init__(self) -> None:
        self.events: list[InputEvent] = []
        self.backgrounds: list[Background] = []
        self.focus: list[bool] = []
        self.capability_changes = 0
        self.resizes = 0
        self.places: list[tuple[int, int]] = []
        self.closed = 0

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events if isinstance(event, Key)]

    def on_input(self, events: list[InputEvent]) -> None:
        self.events += events

    def on_resize(self) -> None:
        self.resizes += 1

    def on_cursor(self, row: int, column: int) -> None:
        self.places.append((row, column))

    def on_background(self, background: Background) -> None:
        self.backgrounds.append(background)

    def on_focus(self, focused: bool) -> None:
        self.focus.append(focused)

    def on_capabilities(self) -> None:
        self.capability_changes += 1

    def on_closed(self) -> None:
        self.closed += 1
