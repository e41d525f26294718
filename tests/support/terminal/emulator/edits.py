"""Sequences that erase, insert, delete and scroll, and that change the attributes of a rectangle."""

from collections.abc import Callable

from tests.support.terminal.emulator.look import PLAIN, changed
from tests.support.terminal.emulator.machine import Machine
from tests.support.terminal.emulator.page import SavedCursor

_REPEAT_LIMIT = 65_536


def erase_display(machine: Machine, params: list[int]) -> None:
    page, look, what = machine.page, machine.blank, params[0]
    if what == 0:
        if machine.habits.multiplexer and page.x == 0 and page.y == 0 and page is machine.main:
            page.push_screen(look)
            return
        _erase_to_right(machine)
        page.clear_rows(page.y + 1, page.height, look)
    elif what == 1:
        x = min(page.x, page.columns - 1)
        page.row.erase(0, x + 1, look)
        page.row.wrapped = False
        if x == page.columns - 1 and page.y + 1 < page.height:
            page.rows[page.y + 1].wrapped = False
        page.clear_rows(0, page.y, look)
    elif what == 2:
        if machine.habits.multiplexer and page is machine.main:
            page.push_screen(look)
            page.scrolled = 0
        else:
            page.clear_rows(0, page.height, look)
        machine.images.clear_rows(page.passed)
    elif what == 3 and machine.habits.erases_history:
        machine.main.forget_history()
    elif what == 22 and not machine.habits.multiplexer:
        page.push_screen(look)


def erase_line(machine: Machine, params: list[int]) -> None:
    page, look = machine.page, machine.blank
    if params[0] == 0:
        _erase_to_right(machine)
    elif params[0] == 1:
        page.row.erase(0, min(page.x, page.columns - 1) + 1, look)
    elif params[0] == 2:
        page.row.erase(0, page.columns, look)
        page.row.wrapped = False


def _erase_to_right(machine: Machine) -> None:
    page = machine.page
    if page.x == page.columns and machine.habits.erases_full_row:
        page.x -= 1
    page.row.erase(page.x, page.columns, machine.blank)
    if page.x == 0:
        page.row.wrapped = False


def erase_chars(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.x = min(page.x, page.columns - 1)
    page.row.erase(page.x, page.x + (params[0] or 1), machine.blank)


def insert_chars(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.x = min(page.x, page.columns - 1)
    page.row.insert(page.x, params[0] or 1, machine.blank)


def delete_chars(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.x = min(page.x, page.columns - 1)
    page.row.delete(page.x, params[0] or 1, machine.blank)


def insert_lines(machine: Machine, params: list[int]) -> None:
    machine.page.x = min(machine.page.x, machine.columns - 1)
    machine.page.insert_rows(params[0] or 1, machine.blank)


def delete_lines(machine: Machine, params: list[int]) -> None:
    machine.page.x = min(machine.page.x, machine.columns - 1)
    machine.page.delete_rows(params[0] or 1, machine.blank)


def scroll_up(machine: Machine, params: list[int]) -> None:
    saves = machine.habits.scroll_up_saves
    machine.page.scroll_up(params[0] or 1, machine.blank, saves=saves)


def scroll_down(machine: Machine, params: list[int]) -> None:
    if len(params) == 1:  # with five parameters it once meant mouse tracking
        machine.page.scroll_down(params[0] or 1, machine.blank)


def repeat(machine: Machine, params: list[int]) -> None:
    """REP: repeat the last character."""
    if machine.printer.last:
        machine.text(machine.printer.last * min(params[0] or 1, _REPEAT_LIMIT))


def change_attributes(machine: Machine, params: list[int]) -> None:
    """DECCARA: top, left, bottom, right, then SGR parameters; colors too, like kitty."""
    page = machine.page
    corners = (params + [0] * 4)[:4]
    top, left = max(corners[0], 1) - 1, max(corners[1], 1) - 1
    bottom = min(corners[2] or page.height, page.height) - 1
    right = min(corners[3] or page.columns, page.columns) - 1
    attributes = ";".join(machine.params.split(";")[4:])
    for y in range(top, bottom + 1):
        looks = page.rows[y].looks
        start = left if machine.rectangle or y == top else 0
        end = right if machine.rectangle or y == bottom else page.columns - 1
        looks[start : end + 1] = [changed(look, attributes) for look in looks[start : end + 1]]


def choose_extent(machine: Machine, params: list[int]) -> None:
    """DECSACE: 2 is a rectangle, anything else a stream in reading order."""
    machine.rectangle = params[0] == 2


def soft_reset(machine: Machine, params: list[int]) -> None:
    """DECSTR."""
    page = machine.page
    page.top, page.bottom = 0, page.height - 1
    page.saved = SavedCursor()
    machine.pen = PLAIN
    machine.origin = machine.printer.insert = machine.rectangle = False
    machine.charsets, machine.shift = ("B", "B"), 0
    machine.modes.update({1: False, 6: False, 25: True})


def style_cursor(machine: Machine, params: list[int]) -> None:
    """DECSCUSR."""
    machine.cursor_style = params[0]


EDITS: dict[str, Callable[[Machine, list[int]], None]] = {
    "J": erase_display,
    "K": erase_line,
    "X": erase_chars,
    "@": insert_chars,
    "P": delete_chars,
    "L": insert_lines,
    "M": delete_lines,
    "S": scroll_up,
    "T": scroll_down,
    "b": repeat,
    "$r": change_attributes,
    "*x": choose_extent,
    "!p": soft_reset,
    " q": style_cursor,
}
