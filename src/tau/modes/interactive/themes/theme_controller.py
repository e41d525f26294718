"""The theme on the screen: chosen by the settings, the person or the terminal's background."""

import os
from typing import TYPE_CHECKING

from tau.base.errors import ConfigError
from tau.config.theme_files import ThemeFile
from tau.modes.interactive.themes.appearance import load_theme, look_of, tokens_of, wanted_name, wanted_theme
from tau.modes.interactive.themes.theme_watcher import ThemeWatch
from tau.tui.terminal.port import Background

if TYPE_CHECKING:
    from collections.abc import Callable

    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display, Notices


class ThemeController:
    """`on_change` is called when everything has other colors."""

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        notices: "Notices",
        on_change: "Callable[[], None]",
    ) -> None:
        self._display = display
        self._current = current
        self._on_change = on_change
        self._background: Background = "dark"
        self.watch = ThemeWatch(
            current.paths.themes,
            display.timer,
            on_theme=self._apply,
            on_problem=lambda text: notices.say(text, "warning"),
        )
        display.screen.on_background_changed = self._terminal_changed
        if display.screen.background is not None:  # it was told before we were there
            self._terminal_changed(display.screen.background)

    @property
    def background(self) -> Background:
        """Whether the terminal is dark or light, as far as it is known."""
        wanted = self._current.settings.theme.background
        return self._background if wanted == "auto" else wanted

    def use(self, name: str) -> None:
        """Show everything in this theme from now on. Raises ConfigError."""
        theme = load_theme(name)
        self.watch.follow(name, theme)
        self._apply(theme)

    def follow(self, background: Background | None = None) -> ThemeFile:
        """The theme for this background. Its file is watched; a broken one counts as it last was."""
        background = background or self._background
        name = wanted_name(self._current.settings, background)
        try:
            theme = load_theme(name)
        except ConfigError:
            self.watch.follow(name)
            return self.watch.last_good(name) or wanted_theme(self._current.settings, background)
        self.watch.follow(name, theme)
        return theme

    def check_file(self) -> None:
        """Look at the theme's file now: the person may come back from an editor."""
        self.watch.look()

    def stop(self) -> None:
        """No more looks at the theme's file."""
        self.watch.stop()

    def restyle(self) -> None:
        """Colors, symbols and motion as the settings want them now."""
        display, background = self._display, self.background
        look = look_of(
            self._current.settings,
            display.terminal.capabilities,
            os.environ,
            background,
            self.follow(background),
        )
        display.theme.symbols, display.theme.motion = look.symbols, look.motion
        display.theme.use(look.tokens, look.depth)
        self._changed()

    def _terminal_changed(self, background: Background) -> None:
        """The terminal told whether it is dark or light. What scrolled away keeps its colors."""
        if background != self._background and self._current.settings.theme.background == "auto":
            self._background = background
            self._apply(self.follow(background))

    def _apply(self, theme: ThemeFile) -> None:
        """Draw everything in these colors."""
        color_blind = self._current.settings.theme.color_blind
        self._display.theme.use(tokens_of(theme, color_blind=color_blind))
        self._changed()

    def _changed(self) -> None:
        self._display.screen.invalidate()
        self._on_change()
