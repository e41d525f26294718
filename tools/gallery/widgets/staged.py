"""A small screen inside a specimen, for overlays and the like."""

from collections.abc import Callable

from tau.tui.component import CachedComponent
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tests.support.fake_timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal


class Staged(CachedComponent):
    """Shows a small screen after `play` has filled it, without colors."""

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
