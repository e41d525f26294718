"""Reading a terminal: its rows, its history, and the view of a user who scrolled up."""

from typing import NamedTuple

from tests.support.terminal.emulator.look import PLAIN, Look
from tests.support.terminal.emulator.machine import Machine
from tests.support.terminal.emulator.modes import place, screen_text
from tests.support.terminal.emulator.row import EMPTY, Row

PLACEHOLDER = "\U0010eeee"


class Cell(NamedTuple):
    """One cell. A wide character is in its first cell; `char` of the second is ""."""

    char: str
    fg: str
    bg: str
    attrs: frozenset[str]
    link: str
    underline: str = ""
    underline_color: str = ""


def cell_of(row: Row, column: int) -> Cell:
    look: Look = row.looks[column] if column < len(row.looks) else PLAIN
    char = row.chars[column] if column < len(row.chars) else EMPTY
    return Cell(" " if char == EMPTY else char, *look)


def image_of(color: str) -> int:
    """A placeholder encodes its image id as a color."""
    return int(color[1:], 16) if color.startswith("#") else int(color or 0)


class Readout:
    """The readable state of a terminal. Nothing here changes it, except for the scroll position."""

    _machine: Machine

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._texts_epoch = -1
        self._texts_dropped = 0
        self._view_top: int | None = None
        self._view_epoch = 0

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 0."""
        return place(self._machine)

    @property
    def cursor_visible(self) -> bool:
        return self._machine.modes[25]

    @property
    def wrap_pending(self) -> bool:
        """Whether the row is full, so that the next character goes to the next row."""
        return self._machine.page.x == self._machine.columns

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return self._machine.page is self._machine.alternate

    def screen(self) -> list[str]:
        """The rows of the screen, without trailing blanks."""
        return screen_text(self._machine)

    def main_screen(self) -> list[str]:
        """The rows of the normal screen, also while the alternate one is shown."""
        return [row.text for row in self._machine.main.rows]

    def visible_screen(self) -> list[str]:
        """The same as a user sees it: the previous frame while a synchronized one is being written."""
        frozen = self._machine.frozen
        return list(frozen[0]) if frozen is not None else self.screen()

    def visible_cursor(self) -> tuple[int, int]:
        """Where a user sees the cursor, with the same delay."""
        frozen = self._machine.frozen
        return frozen[1] if frozen is not None else self.cursor

    def scrollback(self, start: int = 0) -> list[str]:
        """The rows of the history, the oldest first, or those from `start` on."""
        return self._history()[start:]

    @property
    def scrollback_length(self) -> int:
        return len(self._machine.main.history)

    @property
    def scrollback_dropped(self) -> int:
        """Rows the history lost because of its limit."""
        return self._machine.main.history_dropped

    def tape(self) -> list[str]:
        """History and screen, down to the last non-blank row of the screen."""
        rows = self.main_screen()
        while rows and not rows[-1]:
            rows.pop()
        return self._history() + rows

    def cell(self, row: int, column: int) -> Cell:
        """A cell of the screen."""
        return cell_of(self._machine.page.rows[row], column)

    def tape_cell(self, row: int, column: int) -> Cell:
        """A cell of the tape."""
        page = self._machine.main
        history = len(page.history)
        return cell_of(page.history[row] if row < history else page.rows[row - history], column)

    def wrapped(self) -> list[bool]:
        """For each row of history and screen, whether it continues the row above."""
        page = self._machine.main
        return [row.wrapped for row in (*page.history, *page.rows)]

    def scroll_view(self, offset: int) -> None:
        """The user scrolls up that many rows from the bottom and stays there; 0 returns to the bottom."""
        page = self._machine.main
        offset = min(max(offset, 0), len(page.history))
        first = page.history_dropped + len(page.history) - offset
        self._view_top = first if offset else None
        self._view_epoch = page.history_epoch

    def pinned_view(self) -> list[str]:
        """What that user sees now. A cleared or rewrapped history jumps to the bottom."""
        page = self._machine.main
        if self._view_top is None or self._view_epoch != page.history_epoch or self.alternate:
            self._view_top = None
            return self.screen()
        start = max(self._view_top - page.history_dropped, 0)
        rows = self._history()[start : start + page.height]
        missing = page.height - len(rows)
        return rows + [row.text for row in page.rows[:missing]]

    def placeholders(self) -> list[tuple[int, int, int]]:
        """Row, column and image of each screen cell that shows a piece of a Kitty image."""
        return [
            (y, x, image_of(row.looks[x].fg))
            for y, row in enumerate(self._machine.page.rows)
            for x, char in enumerate(row.chars)
            if char.startswith(PLACEHOLDER)
        ]

    def _history(self) -> list[str]:
        """The cached texts of the history, whose rows do not change."""
        page, texts = self._machine.main, self._texts
        if self._texts_epoch != page.history_epoch:
            self._texts_epoch = page.history_epoch
            self._texts_dropped = page.history_dropped
            texts.clear()
        dropped = page.history_dropped - self._texts_dropped
        if dropped:
            del texts[:dropped]
            self._texts_dropped = page.history_dropped
        if len(texts) < len(page.history):
            texts += [row.text for row in page.history[len(texts) :]]
        return texts
