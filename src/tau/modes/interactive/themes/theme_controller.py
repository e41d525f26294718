"""The active theme: set by the settings, the user or the terminal's background."""

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
    """`on_change` is called when all colors change."""

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
        if display.screen.background is not None:  # it was reported before we existed
            self._terminal_changed(display.screen.background)

    @property
    def background(self) -> Background:
        """Whether the terminal is dark or light, as far as known."""
        wanted = self._current.settings.theme.background
        return self._background if wanted == "auto" else wanted

    def use(self, name: str) -> None:
        """Switch to this theme. Raises ConfigError."""
        theme = load_theme(name)
        self.watch.follow(name, theme)
        self._apply(theme)

    def follow(self, background: Background | None = None) -> ThemeFile:
        """The theme for this background. Watches its file; a broken one keeps its last good version."""
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
        """Check the theme file now: the user may return from an editor."""
        self.watch.look()

    def stop(self) -> None:
        """Stop watching the theme file."""
        self.watch.stop()

    def restyle(self) -> None:
        """Apply colors, symbols and motion from the settings."""
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
        """The terminal reported its background. Scrolled-away rows keep their colors."""
        if background != self._background and self._current.settings.theme.background == "auto":
            self._background = background
            self._apply(self.follow(background))

    def _apply(self, theme: ThemeFile) -> None:
        """Redraw everything in these colors."""
        color_blind = self._current.settings.theme.color_blind
        self._display.theme.use(tokens_of(theme, color_blind=color_blind))
        self._changed()

    def _changed(self) -> None:
        self._display.screen.invalidate()
        self._on_change()
