"""Sequences that move the cursor, the tabs and the region."""

from collections.abc import Callable

from tests.support.terminal.emulator.controls import next_tab, previous_tab, restore_cursor, save_cursor
from tests.support.terminal.emulator.machine import Machine


def up(machine: Machine, params: list[int]) -> None:
    """Not above the top of the region, unless the cursor already is."""
    page = machine.page
    count = params[0] or 1
    limit = page.top if page.y >= page.top else 0
    page.move(min(page.x, page.columns - 1), max(page.y - count, limit))


def down(machine: Machine, params: list[int]) -> None:
    page = machine.page
    count = params[0] or 1
    limit = page.bottom if page.y <= page.bottom else page.height - 1
    page.move(page.x, min(page.y + count, limit))


def forward(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.move(min(page.x, page.columns - 1) + (params[0] or 1), page.y)


def back(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.move(min(page.x, page.columns - 1) - (params[0] or 1), page.y)


def next_rows(machine: Machine, params: list[int]) -> None:
    down(machine, params)
    machine.page.x = 0


def previous_rows(machine: Machine, params: list[int]) -> None:
    up(machine, params)
    machine.page.x = 0


def to_column(machine: Machine, params: list[int]) -> None:
    machine.page.move((params[0] or 1) - 1, machine.page.y)


def to_row(machine: Machine, params: list[int]) -> None:
    _to(machine, (params[0] or 1) - 1, min(machine.page.x, machine.columns - 1))


def to_place(machine: Machine, params: list[int]) -> None:
    column = params[1] if len(params) > 1 else 1
    _to(machine, (params[0] or 1) - 1, (column or 1) - 1)


def _to(machine: Machine, y: int, x: int) -> None:
    page = machine.page
    if machine.origin:
        page.move(x, min(page.top + y, page.bottom))
    else:
        page.move(x, y)


def rows_down(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.move(page.x, page.y + (params[0] or 1))


def forward_tabs(machine: Machine, params: list[int]) -> None:
    page = machine.page
    if page.x < page.columns:
        for _ in range(min(params[0] or 1, page.columns)):
            page.x = next_tab(machine, page.x)


def back_tabs(machine: Machine, params: list[int]) -> None:
    page = machine.page
    page.x = min(page.x, page.columns - 1)
    for _ in range(min(params[0] or 1, page.columns)):
        page.x = previous_tab(machine, page.x)


def clear_tabs(machine: Machine, params: list[int]) -> None:
    if params[0] == 0:
        machine.tabs.discard(machine.page.x)
    elif params[0] == 3:
        machine.tabs.clear()


def region(machine: Machine, params: list[int]) -> None:
    """DECSTBM. The cursor goes home; a region of fewer than two rows is invalid."""
    page = machine.page
    top = (params[0] or 1) - 1
    bottom = params[1] if len(params) > 1 else 0
    bottom = min(bottom or page.height, page.height) - 1
    if top < bottom:
        page.top, page.bottom = top, bottom
        _to(machine, 0, 0)


def save(machine: Machine, params: list[int]) -> None:
    save_cursor(machine)


def restore(machine: Machine, params: list[int]) -> None:
    restore_cursor(machine)


MOVES: dict[str, Callable[[Machine, list[int]], None]] = {
    "A": up,
    "B": down,
    "C": forward,
    "D": back,
    "E": next_rows,
    "F": previous_rows,
    "G": to_column,
    "H": to_place,
    "I": forward_tabs,
    "Z": back_tabs,
    "`": to_column,
    "a": forward,
    "d": to_row,
    "e": rows_down,
    "f": to_place,
    "g": clear_tabs,
    "r": region,
    "s": save,
    "u": restore,
}
