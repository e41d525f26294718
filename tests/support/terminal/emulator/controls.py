"""Single-character controls, and escape sequences without parameters."""

from collections.abc import Callable

from tests.support.terminal.emulator.look import PLAIN
from tests.support.terminal.emulator.machine import Machine
from tests.support.terminal.emulator.page import SavedCursor
from tests.support.terminal.emulator.row import Row


def bell(machine: Machine) -> None:
    machine.bells += 1


def backspace(machine: Machine) -> None:
    page = machine.page
    page.x = max(min(page.x, page.columns - 1) - 1, 0)


def tab(machine: Machine) -> None:
    page = machine.page
    if page.x < page.columns:
        page.x = next_tab(machine, page.x)


def next_tab(machine: Machine, x: int) -> int:
    last = machine.columns - 1
    return min(min((stop for stop in machine.tabs if stop > x), default=last), last)


def previous_tab(machine: Machine, x: int) -> int:
    return max((stop for stop in machine.tabs if stop < x), default=0)


def line_feed(machine: Machine) -> None:
    page = machine.page
    if machine.newline:
        page.x = 0
    page.x = min(page.x, page.columns - 1)
    page.line_feed(machine.blank)


def carriage_return(machine: Machine) -> None:
    machine.page.x = 0


def index(machine: Machine) -> None:
    machine.page.x = min(machine.page.x, machine.columns - 1)
    machine.page.index(machine.blank)


def next_line(machine: Machine) -> None:
    machine.page.x = 0
    machine.page.index(machine.blank)


def reverse_index(machine: Machine) -> None:
    page = machine.page
    page.x = min(page.x, page.columns - 1)
    if page.y == page.top:
        page.scroll_down(1, machine.blank)
    else:
        page.y = max(page.y - 1, 0)


def shift_out(machine: Machine) -> None:
    machine.shift = 1


def shift_in(machine: Machine) -> None:
    machine.shift = 0


def set_tab(machine: Machine) -> None:
    machine.tabs.add(min(machine.page.x, machine.columns - 1))


def save_cursor(machine: Machine) -> None:
    page = machine.page
    page.saved = SavedCursor(page.x, page.y, machine.pen, machine.origin, machine.charsets, machine.shift)


def restore_cursor(machine: Machine) -> None:
    page = machine.page
    saved = page.saved
    page.x = min(saved.x, page.columns)
    page.y = min(saved.y, page.height - 1)
    machine.pen = saved.pen
    machine.origin = saved.origin
    machine.charsets, machine.shift = saved.charsets, saved.shift


def reset(machine: Machine) -> None:
    """RIS: everything as after power-on, including the history."""
    machine.reset(machine.columns, machine.height)


def alignment(machine: Machine) -> None:
    """DECALN: the screen full of E."""
    page = machine.page
    page.top, page.bottom = 0, page.height - 1
    page.rows = [Row(["E"] * page.columns, [PLAIN] * page.columns) for _ in range(page.height)]
    page.x = page.y = 0


def application_keypad(machine: Machine) -> None:
    machine.modes[66] = True


def numeric_keypad(machine: Machine) -> None:
    machine.modes[66] = False


CONTROLS: dict[str, Callable[[Machine], None]] = {
    "\x07": bell,
    "\x08": backspace,
    "\x09": tab,
    "\x0a": line_feed,
    "\x0b": line_feed,
    "\x0c": line_feed,
    "\x0d": carriage_return,
    "\x0e": shift_out,
    "\x0f": shift_in,
}
ESCAPES: dict[str, Callable[[Machine], None]] = {
    "7": save_cursor,
    "8": restore_cursor,
    "D": index,
    "E": next_line,
    "H": set_tab,
    "M": reverse_index,
    "c": reset,
    "#8": alignment,
    "=": application_keypad,
    ">": numeric_keypad,
}
