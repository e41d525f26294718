"""The screen before a session exists: painted first, so that the user can type while the rest loads."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tau.base.errors import ConfigError
from tau.base.files import OwnStdout
from tau.config.keybindings import load_keybindings
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes.interactive.composer.input_kinds import PLACEHOLDER, prompt_sign
from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.modes.interactive.layout import ScreenLayout
from tau.modes.interactive.themes.appearance import Appearance, appearance_of, load_theme, theme_name
from tau.tui.input.bindings import Keymap
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.deferred_loop import DeferredLoop
from tau.tui.terminal.port import Terminal
from tau.tui.terminal.process_terminal import ProcessTerminal
from tau.tui.text.clean import TAB_WIDTH
from tau.tui.timer import Timer
from tau.tui.widgets.editor.bindings import EDITOR_BINDINGS
from tau.tui.widgets.editor.editor import Editor

MIN_EDITOR_ROWS = 5


class EarlyScreen:
    """Terminal, screen, theme, keys and editor; `early` holds what was sent too soon."""

    def __init__(
        self,
        terminal: Terminal,
        look: Appearance,
        *,
        timer: Timer,
        cwd: Path,
        overrides: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.terminal = terminal
        self.look = look
        self.timer = timer
        self.cwd = cwd
        TAB_WIDTH.width = look.tab_width
        self.theme = Theme(
            look.tokens, depth=look.depth, symbols=look.symbols, motion=look.motion, linear=look.linear
        )
        self.keys = Keymap(overrides or {}, extra={**EDITOR_BINDINGS, **APP_BINDINGS})
        self.screen = Screen(terminal, theme=self.theme, timer=timer, hardware_cursor=look.hardware_cursor)
        self.request_render = self.screen.request_render
        self.editor = Editor(
            self.theme,
            self.keys,
            timer=timer,
            max_rows=self._editor_rows,
            prompt=prompt_sign(self.theme),
            placeholder="" if look.linear else PLACEHOLDER,
        )
        self.layout = ScreenLayout(self.editor)
        self.early: list[str] = []
        self.problems: list[str] = []
        """Problems in the user's files, shown once there is a transcript."""
        self.exit_message = ""
        """A line to print after leaving the screen."""
        self.editor.on_submit = self.early.append
        for part in self.layout.parts():
            self.screen.root.add(part)

    def open(self) -> None:
        """Take over the terminal and paint."""
        self.screen.focus(self.editor)
        self.screen.start()
        self.screen.render_now()

    def close(self) -> None:
        """Release the terminal; the conversation stays in its history."""
        self.screen.stop()

    def _editor_rows(self) -> int:
        return max(MIN_EDITOR_ROWS, self.terminal.rows // 3)


def open_front(settings: Settings, paths: Paths, cwd: Path) -> tuple[EarlyScreen, DeferredLoop]:
    """The painted screen of this process; keys are handled once the loop is attached.

    A broken key or theme file does not prevent startup: the screen reports the problem.
    """
    loop = DeferredLoop()
    terminal = ProcessTerminal(stdout_fd=OwnStdout.reserve(), loop=loop)
    problems: list[str] = []
    overrides: dict[str, list[str]] = {}
    try:
        overrides = load_keybindings(paths.keybindings)
    except ConfigError as error:
        problems.append(f"{error} Using the default keys until it is fixed.")
    try:
        load_theme(theme_name(settings, "dark"))
        load_theme(theme_name(settings, "light"))
    except ConfigError as error:
        problems.append(f"{error} Using the default theme.")
    look = appearance_of(settings, terminal.capabilities, os.environ)
    if terminal.switches.hardware_cursor:  # TAU_HARDWARE_CURSOR, for a single run
        look = look._replace(hardware_cursor=True)
    front = EarlyScreen(terminal, look, timer=loop, cwd=cwd, overrides=overrides)
    front.problems += [*problems, *front.keys.problems, *map(str, front.keys.conflicts)]
    front.open()
    return front, loop
