"""Takes the terminal and paints the first frame, before there is an event loop."""

import os
from pathlib import Path

from tau.base.errors import ConfigError
from tau.config.keybindings import load_keybindings
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes.interactive.front import EarlyScreen
from tau.modes.interactive.themes.looks import load_theme, look_of, wanted_name
from tau.tui.terminal.late_loop import LateLoop
from tau.tui.terminal.process import ProcessTerminal


def open_front(settings: Settings, paths: Paths, cwd: Path) -> tuple[EarlyScreen, LateLoop]:
    """The screen of this process, painted; keys are heard as soon as the loop is attached.

    A file of keys or a theme that cannot be used is no reason not to start: the front has the problem.
    """
    loop = LateLoop()
    terminal = ProcessTerminal(loop=loop)
    problems: list[str] = []
    overrides: dict[str, list[str]] = {}
    try:
        overrides = load_keybindings(paths.keybindings)
    except ConfigError as error:
        problems.append(f"{error} The usual keys count until it is mended.")
    try:
        load_theme(wanted_name(settings, "dark"))
        load_theme(wanted_name(settings, "light"))
    except ConfigError as error:
        problems.append(f"{error} The usual theme takes its place.")
    look = look_of(settings, terminal.capabilities, os.environ)
    if terminal.switches.hardware_cursor:  # TAU_HARDWARE_CURSOR, for one run
        look = look._replace(hardware_cursor=True)
    front = EarlyScreen(terminal, look, timer=loop, cwd=cwd, overrides=overrides)
    front.problems += [*problems, *front.keys.problems, *map(str, front.keys.conflicts)]
    front.open()
    return front, loop
