"""A small screen inside a specimen: for what only shows on one, such as overlays."""

from collections.abc import Callable

from tau.tui.component import CachedComponent
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal


class Staged(CachedComponent):
    """Shows what a screen of some rows holds after `play` put things on it; without colours."""

    def __init__(self, theme: Theme, rows: int, play: Callable[[Screen], object]) -> None:
        self._theme = theme
        self._height = rows
        self._play = play

    def _render_rows(self, width: int) -> list[str]:
        terminal = VirtualTerminal(width, self._height)
        screen = Screen(terminal, theme=self._theme, timer=FakeTimer())
        screen.start()
        self._play(screen)
        screen.render_now()
        rows = terminal.screen()
        screen.stop()
        return rows
