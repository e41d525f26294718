"""A recording of a terminal as a value that can be replayed on any of them, and the result."""

from typing import Any, NamedTuple

from tests.support.terminal.virtual import Habits, VirtualTerminal

Event = tuple[str, str] | tuple[str, int, int]
"""("write", text) or ("resize", columns, rows)."""

# Differences between terminals; see `Habits`.
LIKE_XTERM_JS = Habits(scroll_up_saves=False)
LIKE_TMUX = Habits(multiplexer=True, any_region_saves=True)


class Recording(NamedTuple):
    columns: int
    rows: int
    events: list[Event]
    scrollback: int = 100_000


class Tape(NamedTuple):
    """All rows, the oldest first; `history` of them are above the screen."""

    rows: list[str]
    history: int
    cursor: tuple[int, int]
    wrapped: list[bool]


class RecordingTerminal(VirtualTerminal):
    """Records everything written to it and every resize."""

    def __init__(self, columns: int = 80, rows: int = 24, **options: Any) -> None:
        super().__init__(columns, rows, **options)
        self.recording = Recording(columns, rows, [])

    def write(self, text: str) -> None:
        self.recording.events.append(("write", text))
        super().write(text)

    def resize(self, columns: int, rows: int) -> None:
        self.recording.events.append(("resize", columns, rows))
        super().resize(columns, rows)


def play(recording: Recording, habits: Habits) -> VirtualTerminal:
    """Our own emulator after the recording."""
    terminal = VirtualTerminal(
        recording.columns, recording.rows, habits=habits, scrollback_limit=recording.scrollback
    )
    for event in recording.events:
        match event:
            case ("write", str(text)):
                terminal.write(text)
            case ("resize", int(columns), int(rows)):
                terminal.resize(columns, rows)
    return terminal


def tape_of(terminal: VirtualTerminal) -> Tape:
    return Tape(
        terminal.scrollback() + terminal.main_screen(),
        terminal.scrollback_length,
        terminal.cursor,
        terminal.wrapped(),
    )
