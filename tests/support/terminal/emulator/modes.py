"""Modes: switching them, and the alternate screens and held frames behind some of them."""

from collections.abc import Callable

from tests.support.terminal.emulator.controls import restore_cursor, save_cursor
from tests.support.terminal.emulator.machine import Machine

SYNCHRONIZED = 2026


def set_ansi(machine: Machine, params: list[int]) -> None:
    _switch_ansi(machine, params, True)


def reset_ansi(machine: Machine, params: list[int]) -> None:
    _switch_ansi(machine, params, False)


def _switch_ansi(machine: Machine, params: list[int], on: bool) -> None:
    if 4 in params:
        machine.printer.insert = on
    if 20 in params:
        machine.newline = on


def set_private(machine: Machine, params: list[int]) -> None:
    for mode in params:
        switch(machine, mode, True)


def reset_private(machine: Machine, params: list[int]) -> None:
    for mode in params:
        switch(machine, mode, False)


def switch(machine: Machine, mode: int, on: bool) -> None:
    """Set or reset one DEC private mode."""
    was = machine.modes.get(mode, False)
    machine.modes[mode] = on
    if mode == 6:
        machine.origin = on
        machine.page.move(0, machine.page.top if on else 0)
    elif mode == 7:
        machine.printer.autowrap = on
    elif mode in (47, 1047, 1049):
        _switch_screen(machine, mode, on)
    elif mode == 1048:
        (save_cursor if on else restore_cursor)(machine)
    elif mode == SYNCHRONIZED:
        if on and not was:
            machine.frozen = (screen_text(machine), place(machine))
        elif not on:
            machine.frozen = None
    elif mode == 2048 and on:
        report_size(machine)


def _switch_screen(machine: Machine, mode: int, on: bool) -> None:
    if on == (machine.page is machine.alternate):
        return
    if on:
        if mode == 1049:
            save_cursor(machine)
        machine.alternate.x, machine.alternate.y = machine.page.x, machine.page.y
        machine.page = machine.alternate
        machine.page.clear_rows(0, machine.page.height, machine.blank)
    else:
        main = machine.main
        main.x, main.y = machine.page.x, machine.page.y
        machine.page = main
        if mode == 1049:
            restore_cursor(machine)


def screen_text(machine: Machine) -> list[str]:
    """The rows of the screen as text."""
    return [row.text for row in machine.page.rows]


def place(machine: Machine) -> tuple[int, int]:
    """The row and the column of the cursor."""
    return machine.page.y, min(machine.page.x, machine.columns - 1)


def report_size(machine: Machine) -> None:
    """Mode 2048: report the size on request and when it changes."""
    if machine.answers is not None and machine.modes.get(2048):
        width, height = machine.answers.cell_pixels
        rows, columns = machine.height, machine.columns
        machine.reply(f"\x1b[48;{rows};{columns};{rows * height};{columns * width}t")


MODES: dict[str, Callable[[Machine, list[int]], None]] = {
    "h": set_ansi,
    "l": reset_ansi,
    "?h": set_private,
    "?l": reset_private,
}
