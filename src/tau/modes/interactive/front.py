"""The screen before there is a session: painted first, so that a person can type while the rest is loaded."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.modes.interactive.bindings import APP_BINDINGS
from tau.modes.interactive.layout import ScreenLayout
from tau.tui.input.bindings import Keymap
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.timer import Timer
from tau.tui.widgets.editor.bindings import EDITOR_BINDINGS
from tau.tui.widgets.editor.editor import Editor

if TYPE_CHECKING:
    from tau.modes.interactive.themes.looks import Appearance

MIN_EDITOR_ROWS = 5


class EarlyScreen:
    """Terminal, screen, theme, keys and editor; `early` is what was sent before somebody could take it."""

    def __init__(
        self,
        terminal: Terminal,
        look: "Appearance",
        *,
        timer: Timer,
        cwd: Path,
        overrides: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.terminal = terminal
        self.look = look
        self.timer = timer
        self.cwd = cwd
        self.theme = Theme(
            look.tokens, depth=look.depth, symbols=look.symbols, motion=look.motion, linear=look.linear
        )
        self.keys = Keymap(overrides or {}, extra={**EDITOR_BINDINGS, **APP_BINDINGS})
        self.screen = Screen(terminal, theme=self.theme, timer=timer, hardware_cursor=look.hardware_cursor)
        self.editor = Editor(self.theme, self.keys, timer=timer, max_rows=self._editor_rows)
        self.layout = ScreenLayout(self.editor)
        self.early: list[str] = []
        self.problems: list[str] = []
        """What is wrong with the user's files, to be told as soon as there is a transcript."""
        self.farewell = ""
        """A line to leave behind once the terminal is given back."""
        self.editor.on_submit = self.early.append
        for part in self.layout.parts():
            self.screen.root.add(part)

    def open(self) -> None:
        """Take the terminal and paint."""
        self.screen.focus(self.editor)
        self.screen.start()
        self.screen.render_now()

    def close(self) -> None:
        """Give the terminal back; what was said stays in its history."""
        self.screen.stop()

    def _editor_rows(self) -> int:
        return max(MIN_EDITOR_ROWS, self.terminal.rows // 3)
