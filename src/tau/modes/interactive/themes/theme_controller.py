"""The active theme: set by the settings, the user or the terminal's background, and followed on disk."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tau.base.errors import ConfigError
from tau.config.theme_files import ThemeFile
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display, Notices
from tau.modes.interactive.themes.appearance import (
    appearance_of,
    configured_theme,
    load_theme,
    theme_name,
    tokens_of,
)
from tau.tui.terminal.port import Background
from tau.tui.timer import Handle, Timer

EVERY_S = 1.0

FileStamp: TypeAlias = tuple[int, int, int]
"""Size, time and inode: what changes when a file is saved."""


class ThemeWatch:
    """Watches the active theme's file if it is the user's; built-in themes cost nothing."""

    def __init__(
        self,
        folder: Path,
        timer: Timer,
        *,
        on_theme: Callable[[ThemeFile], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._timer = timer
        self._on_theme = on_theme
        self._on_problem = on_problem
        self._path: Path | None = None
        self._stamp: FileStamp | None = None
        self._next: Handle | None = None
        self._suspect = ""
        """A problem in the file, which may be half written: reported if the next check finds the same."""
        self._reported = ""
        self._good: dict[str, ThemeFile] = {}

    def follow(self, name: str, theme: ThemeFile | None = None) -> None:
        """Watch this theme; `theme` is its content, None if unusable."""
        self.stop()
        self._path = self._folder / f"{name}.json"
        self._stamp = _stamp(self._path)
        self._suspect = self._reported = ""
        if theme is not None:
            self._good.pop(name, None)
            if self._stamp is not None:
                self._good[name] = theme
        if self._stamp is not None or name in self._good:
            self._wait()

    def last_good(self, name: str) -> ThemeFile | None:
        """The last good version of a theme, for when its file is broken or gone."""
        return self._good.get(name)

    def stop(self) -> None:
        """Stop watching."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def check_now(self) -> None:
        """Check at once, since the user returns to this window, perhaps from an editor."""
        if self._next is not None:
            self._next.cancel()
            self._check()

    def _wait(self) -> None:
        self._next = self._timer.call_later(EVERY_S, self._check)

    def _check(self) -> None:
        self._wait()
        path = self._path
        assert path is not None
        stamp = _stamp(path)
        if stamp is None or not stamp[0]:
            return  # missing or about to be written: keep the current look
        if stamp != self._stamp:
            self._stamp = stamp
            self._read(path.stem)
        elif self._suspect:
            self._report()

    def _read(self, name: str) -> None:
        try:
            theme = load_theme(name)
        except ConfigError as error:
            self._suspect = str(error)
            return
        self._suspect = self._reported = ""
        self._good[name] = theme
        self._on_theme(theme)

    def _report(self) -> None:
        """Once per problem, not once per save."""
        if self._suspect != self._reported:
            self._reported = self._suspect
            self._on_problem(f"{self._suspect} Keeping the current theme.")
        self._suspect = ""


def _stamp(path: Path) -> FileStamp | None:
    """None if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


class ThemeController:
    """`on_change` is called when all colors change."""

    def __init__(
        self, display: Display, current: CurrentSession, notices: Notices, on_change: Callable[[], None]
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
        name = theme_name(self._current.settings, background)
        try:
            theme = load_theme(name)
        except ConfigError:
            self.watch.follow(name)
            return self.watch.last_good(name) or configured_theme(self._current.settings, background)
        self.watch.follow(name, theme)
        return theme

    def restyle(self) -> None:
        """Apply colors, symbols and motion from the settings."""
        display, background = self._display, self.background
        look = appearance_of(
            self._current.settings,
            display.terminal.capabilities,
            os.environ,
            background,
            self.follow(background),
        )
        display.theme.symbols, display.theme.motion = look.symbols, look.motion
        display.theme.use(look.tokens, look.depth)
        self._redraw()

    def _terminal_changed(self, background: Background) -> None:
        """The terminal reported its background. Scrolled-away rows keep their colors."""
        if background != self._background and self._current.settings.theme.background == "auto":
            self._background = background
            self._apply(self.follow(background))

    def _apply(self, theme: ThemeFile) -> None:
        """Redraw everything in these colors."""
        color_blind = self._current.settings.theme.color_blind
        self._display.theme.use(tokens_of(theme, color_blind=color_blind))
        self._redraw()

    def _redraw(self) -> None:
        self._display.screen.invalidate()
        self._on_change()
