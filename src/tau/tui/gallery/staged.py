"""A small screen inside a specimen: for what only shows on one, such as overlays."""

from collections.abc import Callable, Sequence

from tau.tui.component import Component
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.virtual import VirtualTerminal
from tau.tui.timer import FakeTimer


class Staged(Component):
    """Shows what a screen of some rows holds after `play` put things on it; without colours."""

    def __init__(self, theme: Theme, rows: int, play: Callable[[Screen], object]) -> None:
        self._theme = theme
        self._height = rows
        self._play = play
        self._rows: list[str] | None = None
        self._width = 0

    def invalidate(self) -> None:
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        if self._rows is None or width != self._width:
            self._width = width
            terminal = VirtualTerminal(max(width, 1), self._height)
            screen = Screen(terminal, theme=self._theme, timer=FakeTimer())
            screen.start()
            self._play(screen)
            screen.render_now()
            self._rows = terminal.screen()
            screen.stop()
        return self._rows
