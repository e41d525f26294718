"""Queries that programs send to the terminal, and the protocols they then enable."""

from collections.abc import Callable

from tests.support.terminal.emulator.machine import Keyboard, Machine
from tests.support.terminal.emulator.modes import place

_STACK_LIMIT = 64


def attributes(machine: Machine, params: list[int]) -> None:
    """DA1."""
    if params[0] == 0 and machine.answers is not None and machine.answers.attributes:
        machine.reply(f"\x1b[?{machine.answers.attributes}c")


def secondary_attributes(machine: Machine, params: list[int]) -> None:
    machine.reply("\x1b[>1;10;0c")


def status(machine: Machine, params: list[int]) -> None:
    if params[0] == 5:
        machine.reply("\x1b[0n")
    elif params[0] == 6:
        machine.reply(f"\x1b[{_cursor_report(machine)}R")


def private_status(machine: Machine, params: list[int]) -> None:
    if params[0] == 6:
        machine.reply(f"\x1b[?{_cursor_report(machine)}R")
    elif params[0] == 996:
        report_background(machine)


def _cursor_report(machine: Machine) -> str:
    row, column = place(machine)
    return f"{row + 1 - (machine.page.top if machine.origin else 0)};{column + 1}"


def report_background(machine: Machine) -> None:
    """Whether the terminal is dark (1) or light (2)."""
    if machine.answers is not None and 2031 in machine.answers.modes:
        machine.reply(f"\x1b[?997;{1 if is_dark(machine.answers.background) else 2}n")


def is_dark(color: str) -> bool:
    """The brightness of an X11 color: `rgb:1111/2222/3333`, with one to four digits each."""
    parts = color.removeprefix("rgb:").split("/")
    red, green, blue = (int(part, 16) / float(16 ** len(part) - 1) for part in parts)
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5)


def private_mode(machine: Machine, params: list[int]) -> None:
    """DECRQM: 0 unknown, 1 set, 2 reset."""
    mode = params[0]
    if machine.answers is not None and machine.answers.modes:
        known = mode in machine.answers.modes
        state = (1 if machine.modes.get(mode, False) else 2) if known else 0
        machine.reply(f"\x1b[?{mode};{state}$y")


def ansi_mode(machine: Machine, params: list[int]) -> None:
    states = {4: machine.printer.insert, 20: machine.newline}
    state = (1 if states[params[0]] else 2) if params[0] in states else 0
    machine.reply(f"\x1b[{params[0]};{state}$y")


def version(machine: Machine, params: list[int]) -> None:
    """XTVERSION."""
    if params[0] == 0 and machine.answers is not None and machine.answers.version:
        machine.reply(f"\x1bP>|{machine.answers.version}\x1b\\")


def window(machine: Machine, params: list[int]) -> None:
    """Sizes, and the stack of titles."""
    if machine.answers is not None and params[0] in (14, 16, 18):
        width, height = machine.answers.cell_pixels
        rows, columns = machine.height, machine.columns
        sizes = {14: (4, rows * height, columns * width), 16: (6, height, width), 18: (8, rows, columns)}
        machine.reply("\x1b[{};{};{}t".format(*sizes[params[0]]))
    elif params[0] == 22 and len(machine.titles) < _STACK_LIMIT:
        machine.titles.append(machine.title)
    elif params[0] == 23 and machine.titles:
        machine.title = machine.titles.pop()


def _keyboard(machine: Machine) -> tuple[Keyboard, bool] | None:
    """The state of the Kitty keyboard protocol for the current screen; None if unsupported."""
    if machine.answers is not None and not machine.answers.kitty_keyboard:
        return None
    return machine.keyboard, machine.page is machine.alternate


def push_keyboard(machine: Machine, params: list[int]) -> None:
    state = _keyboard(machine)
    if state is not None:
        keyboard, screen = state
        stack = keyboard.stacks[screen]
        stack.append(keyboard.current[screen])
        del stack[:-_STACK_LIMIT]
        keyboard.current[screen] = params[0] & 31


def pop_keyboard(machine: Machine, params: list[int]) -> None:
    state = _keyboard(machine)
    if state is not None:
        keyboard, screen = state
        stack = keyboard.stacks[screen]
        for _ in range(min(params[0] or 1, _STACK_LIMIT)):
            keyboard.current[screen] = stack.pop() if stack else 0


def set_keyboard(machine: Machine, params: list[int]) -> None:
    """Mode 1 sets exactly these flags, 2 adds them, 3 removes them."""
    state = _keyboard(machine)
    if state is not None:
        keyboard, screen = state
        flags, how = params[0] & 31, params[1] if len(params) > 1 else 1
        old = keyboard.current[screen]
        keyboard.current[screen] = {2: old | flags, 3: old & ~flags}.get(how, flags)


def query_keyboard(machine: Machine, params: list[int]) -> None:
    state = _keyboard(machine)
    if state is not None:
        keyboard, screen = state
        machine.reply(f"\x1b[?{keyboard.current[screen]}u")


def set_key_options(machine: Machine, params: list[int]) -> None:
    """XTMODKEYS: only modifyOtherKeys (4) is stored."""
    if params[0] == 4:
        machine.keyboard.modify_other_keys = params[1] if len(params) > 1 else 0


def query_key_options(machine: Machine, params: list[int]) -> None:
    if params[0] == 4:
        machine.reply(f"\x1b[>4;{machine.keyboard.modify_other_keys}m")


QUERIES: dict[str, Callable[[Machine, list[int]], None]] = {
    "c": attributes,
    ">c": secondary_attributes,
    "n": status,
    "?n": private_status,
    "?$p": private_mode,
    "$p": ansi_mode,
    ">q": version,
    "t": window,
    ">u": push_keyboard,
    "<u": pop_keyboard,
    "=u": set_keyboard,
    "?u": query_keyboard,
    ">m": set_key_options,
    "?m": query_key_options,
}
