"""Resizing a terminal: cropped and padded like xterm, or with its lines rewrapped."""

from typing import Literal, NamedTuple

from tests.support.terminal.emulator.look import PLAIN, Look
from tests.support.terminal.emulator.page import Page
from tests.support.terminal.emulator.row import EMPTY, TAIL, Row, empty_row

TakesBack = Literal["always", "at the bottom", "never"]


class Reflowed(NamedTuple):
    """All rows at a new width, and the new position of the marked cell."""

    rows: list[Row]
    y: int
    x: int


def resize(
    page: Page, columns: int, height: int, *, reflow: bool, takes_back: TakesBack, multiplexer: bool
) -> None:
    """Resize the page: first the rows, exchanging them with the history, then the columns."""
    before = page.x
    is_saved = (page.saved.x, page.saved.y) == (page.x, page.y)
    if multiplexer:
        _height_of_pane(page, height)
    else:
        _height(page, height, takes_back)
    page.top, page.bottom = 0, height - 1
    if columns != page.columns:
        if reflow and page.history_limit:
            _rewrap(page, columns, bottom_anchored=multiplexer)
        else:
            for row in page.rows:
                row.fit(columns)
            page.x = min(before, columns - 1)
        page.columns = columns
    # A cursor saved on the way to the alternate screen stays at its text: tmux, VTE, foot.
    x, y = (page.x, page.y) if is_saved else (page.saved.x, page.saved.y)
    page.saved = page.saved._replace(x=min(x, columns - 1), y=min(y, height - 1))


def erase_prompt(page: Page) -> None:
    """Erase the rows from the prompt's mark on, unless the cursor is in the output below it."""
    marked = [y for y in range(page.y + 1) if page.rows[y].mark]
    if marked and page.rows[marked[-1]].mark == "A":
        for row in page.rows[marked[-1] :]:
            row.erase(0, page.columns, PLAIN)
            row.wrapped = False


def _height(page: Page, height: int, takes_back: TakesBack) -> None:
    """Taller: rows return from the history as `takes_back` says, otherwise empty ones are added below.

    Shorter: rows below the cursor go first, then rows at the top go into the history.
    """
    while len(page.rows) < height:
        at_bottom = takes_back == "at the bottom" and page.y == len(page.rows) - 1
        if page.history and (at_bottom or takes_back == "always"):
            _take_back(page)
        else:
            page.rows.append(empty_row(page.columns))
    _shrink(page, height)
    page.height = height


def _height_of_pane(page: Page, height: int) -> None:
    """A multiplexer takes back whatever scrolled away, wherever the cursor is."""
    while len(page.rows) < height:
        if page.scrolled and page.history:
            _take_back(page)
        else:
            page.rows.append(empty_row(page.columns))
    _shrink(page, height)
    page.height = height


def _take_back(page: Page) -> None:
    row = page.history.pop()
    row.fit(page.columns)
    page.rows.insert(0, row)
    page.history_epoch += 1
    page.scrolled -= 1
    page.passed -= 1
    page.y += 1


def _shrink(page: Page, height: int) -> None:
    while len(page.rows) > height:
        if page.y < len(page.rows) - 1:
            page.rows.pop()
        else:
            page.remember(page.rows.pop(0))
            page.y -= 1


def _rewrap(page: Page, columns: int, *, bottom_anchored: bool) -> None:
    """Rewrap wrapped lines, including the history; the cursor stays at its text."""
    old = page.history + page.rows
    first, cursor = len(page.history), len(page.history) + page.y
    done = reflowed(old, page.columns, columns, cursor, page.x)
    rows, height = done.rows, page.height
    added = len(rows) - len(old)
    if first == 0 and not bottom_anchored:
        while added > 0 and len(rows) - 1 > done.y and not rows[-1].used():
            rows.pop()
            added -= 1
    while len(rows) < height:
        rows.append(empty_row(columns))
    start = len(rows) - height
    page.passed += start - first
    page.history, page.rows = rows[:start], rows[start:]
    page.history_epoch += 1
    page.scrolled = min(page.scrolled, start)
    overflow = len(page.history) - page.history_limit
    if overflow > 0:
        del page.history[:overflow]
        page.history_dropped += overflow
    page.y = max(done.y - start, 0)
    page.x = done.x


def reflowed(old: list[Row], from_columns: int, columns: int, y: int, x: int) -> Reflowed:
    """The rows at another width; `y` and `x` mark a cell whose new position is returned."""
    rows: list[Row] = []
    new_y = new_x = index = 0
    while index < len(old):
        end = index + 1
        while end < len(old) and old[end].wrapped:
            end += 1
        if end - index == 1 and not (index <= y < end) and len(old[index].chars) <= columns:
            old[index].fit(columns)
            rows.append(old[index])
        else:
            chars, looks, offset = _joined(old[index:end], from_columns, y - index, x)
            wraps = _wraps(chars, columns)
            if index <= y < end:
                new_y, new_x = _place_of(offset, wraps, columns)
                new_y += len(rows)
            for number, (start, stop) in enumerate(wraps):
                row = Row(chars[start:stop], looks[start:stop], number > 0 or old[index].wrapped)
                row.fit(columns)
                rows.append(row)
        index = end
    return Reflowed(rows, new_y, new_x)


def _joined(group: list[Row], columns: int, y: int, x: int) -> tuple[list[str], list[Look], int]:
    """One logical line, and the offset in it of the cell (x, y), counted from the first of the rows."""
    chars: list[str] = []
    looks: list[Look] = []
    offset = 0
    for number, row in enumerate(group):
        if number == y:
            offset = len(chars) + x
        if number == len(group) - 1:
            length = row.used()
        else:
            length = columns
            row.fit(columns)
            # A wide character that did not fit left the last cell empty: that cell is not part of the text.
            following = group[number + 1].chars
            if row.chars[-1] == EMPTY and len(following) > 1 and following[1] == TAIL:
                length -= 1
        chars += row.chars[:length]
        looks += row.looks[:length]
    return chars, looks, offset


def _wraps(chars: list[str], columns: int) -> list[tuple[int, int]]:
    """Where the rows of a logical line start and end; there is always one."""
    found = []
    start, end = 0, len(chars)
    while end - start > columns:
        stop = start + columns
        while stop > start and chars[stop] == TAIL:
            stop -= 1
        if stop == start:  # a character wider than the terminal
            stop = start + columns
        found.append((start, stop))
        start = stop
    found.append((start, end))
    return found


def _place_of(offset: int, wraps: list[tuple[int, int]], columns: int) -> tuple[int, int]:
    """The row and the column of a cell of the line. Past its text the cursor stays within the last row."""
    number = 0
    while number < len(wraps) - 1 and offset >= wraps[number][1]:
        number += 1
    x = offset - wraps[number][0]
    return number, x if x <= columns else columns - 1
