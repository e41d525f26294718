"""Takes the terminal and paints the first frame, before there is an event loop."""

import os
from pathlib import Path

from tau.config.keybindings import load_keybindings
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes.interactive.front import Front
from tau.modes.interactive.themes.looks import look_of
from tau.tui.terminal.late_loop import LateLoop
from tau.tui.terminal.process import ProcessTerminal


def open_front(settings: Settings, paths: Paths, cwd: Path) -> tuple[Front, LateLoop]:
    """The screen of this process, painted; keys are heard as soon as the loop is attached."""
    loop = LateLoop()
    terminal = ProcessTerminal(loop=loop)
    look = look_of(settings, terminal.capabilities, os.environ)
    front = Front(terminal, look, timer=loop, cwd=cwd, overrides=load_keybindings(paths.keybindings))
    front.open()
    return front, loop
