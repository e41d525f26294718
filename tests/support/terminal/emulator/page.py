"""A screen full of rows with its cursor, its scroll region and, on the normal screen, its history."""

from typing import NamedTuple

from tests.support.terminal.emulator.look import PLAIN, Look
from tests.support.terminal.emulator.row import Row, empty_row


class SavedCursor(NamedTuple):
    """What DECSC saves."""

    x: int = 0
    y: int = 0
    pen: Look = PLAIN
    origin: bool = False
    charsets: tuple[str, str] = ("B", "B")
    shift: int = 0


class Page:
    """The rows and the position of the next character.

    `x` may be one past the last column: the row is full and the next character wraps first.
    """

    def __init__(self, columns: int, height: int, history_limit: int) -> None:
        self.columns = columns
        self.height = height
        self.history_limit = history_limit
        self.rows = [empty_row(columns) for _ in range(height)]
        self.history: list[Row] = []
        self.any_region_saves = False
        self.history_dropped = 0
        """Rows pushed out of the full history."""
        self.history_epoch = 0
        """How often history rows changed or left it other than by age."""
        self.scrolled = 0
        """Rows a multiplexer would pull out of the history when it grows."""
        self.passed = 0
        """All rows that were ever above the screen, including forgotten ones."""
        self.x = 0
        self.y = 0
        self.top = 0
        self.bottom = height - 1
        self.saved = SavedCursor()

    @property
    def row(self) -> Row:
        return self.rows[self.y]

    def remember(self, row: Row) -> None:
        """A row leaves the screen at the top."""
        if not self.history_limit:
            return
        self.passed += 1
        self.history.append(row)
        self.scrolled += 1
        if len(self.history) > self.history_limit:
            del self.history[0]
            self.history_dropped += 1

    def forget_history(self) -> None:
        self.history.clear()
        self.history_epoch += 1
        self.scrolled = 0

    def line_feed(self, look: Look, wrapped: bool = False) -> None:
        """Like `index`; the new row notes whether it continues the one above."""
        if self.y != self.bottom and self.y < self.height - 1:
            self.rows[self.y + 1].wrapped = wrapped
        self.index(look, wrapped)

    def index(self, look: Look, wrapped: bool = False) -> None:
        """Down one row; at the bottom of the region its rows scroll up, the top one into the history."""
        if self.y == self.bottom:
            self.scroll_up(1, look, wrapped=wrapped)
        elif self.y < self.height - 1:
            self.y += 1

    def scroll_up(self, count: int, look: Look, *, saves: bool = True, wrapped: bool = False) -> None:
        """Scroll the region up. Usually only one that starts at the top row feeds the history."""
        rows, top, bottom = self.rows, self.top, self.bottom
        saves = saves and (top == 0 or self.any_region_saves)
        for _ in range(min(count, bottom - top + 1)):
            row = rows.pop(top)
            if saves:
                self.remember(row)
            rows.insert(bottom, empty_row(self.columns, look, wrapped))

    def scroll_down(self, count: int, look: Look) -> None:
        rows, top, bottom = self.rows, self.top, self.bottom
        for _ in range(min(count, bottom - top + 1)):
            del rows[bottom]
            rows.insert(top, empty_row(self.columns, look))

    def insert_rows(self, count: int, look: Look) -> None:
        """At the cursor; nothing happens outside the region."""
        if self.top <= self.y <= self.bottom:
            for _ in range(min(count, self.bottom - self.y + 1)):
                del self.rows[self.bottom]
                self.rows.insert(self.y, empty_row(self.columns, look))
            self.x = 0

    def delete_rows(self, count: int, look: Look) -> None:
        """At the cursor; deleted rows do not go to the history."""
        if self.top <= self.y <= self.bottom:
            for _ in range(min(count, self.bottom - self.y + 1)):
                del self.rows[self.y]
                self.rows.insert(self.bottom, empty_row(self.columns, look))
            self.x = 0

    def clear_rows(self, start: int, end: int, look: Look) -> None:
        for index in range(start, end):
            self.rows[index] = empty_row(self.columns, look)

    def push_screen(self, look: Look) -> None:
        """Every row down to the last one in use goes into the history."""
        used = self.used_rows()
        for row in self.rows[:used]:
            self.remember(row)
        self.rows = [empty_row(self.columns, look) for _ in range(self.height)]

    def used_rows(self) -> int:
        """The number of rows down to the last one with text."""
        count = self.height
        while count and not self.rows[count - 1].used():
            count -= 1
        return count

    def move(self, x: int, y: int) -> None:
        """Move the cursor there, or to the nearest position on the screen."""
        self.x = min(max(x, 0), self.columns - 1)
        self.y = min(max(y, 0), self.height - 1)
