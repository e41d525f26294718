"""Watches the theme file a user is editing and applies changes once a second."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tau.base.errors import ConfigError
from tau.config.theme_files import ThemeFile
from tau.modes.interactive.themes.appearance import load_theme

if TYPE_CHECKING:
    from tau.tui.timer import Handle, Timer

EVERY_S = 1.0


class Stamp(NamedTuple):
    """What changes when a file is saved."""

    time_ns: int
    size: int
    number: int


class ThemeWatch:
    """Watches the active theme's file if it is the user's; built-in themes cost nothing."""

    def __init__(
        self,
        folder: Path,
        timer: "Timer",
        *,
        on_theme: Callable[[ThemeFile], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._timer = timer
        self._on_theme = on_theme
        self._on_problem = on_problem
        self._path: Path | None = None
        self._stamp: Stamp | None = None
        self._next: Handle | None = None
        self._suspect = ""
        """A problem in the file, which may be half written: reported if the next check finds the same."""
        self._told = ""
        self._good: dict[str, ThemeFile] = {}

    def follow(self, name: str, theme: ThemeFile | None = None) -> None:
        """Watch this theme; `theme` is its content, None if unusable."""
        self.stop()
        self._path = self._folder / f"{name}.json"
        self._stamp = _stamp(self._path)
        self._suspect = self._told = ""
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

    def look(self) -> None:
        """Check now, since the user returns to this window, perhaps from an editor."""
        if self._next is not None:
            self._next.cancel()
            self._look()

    def _wait(self) -> None:
        self._next = self._timer.call_later(EVERY_S, self._look)

    def _look(self) -> None:
        self._wait()
        path = self._path
        assert path is not None
        stamp = _stamp(path)
        if stamp is None or not stamp.size:
            return  # missing or about to be written: keep the current look
        if stamp != self._stamp:
            self._stamp = stamp
            self._read(path.stem)
        elif self._suspect:
            self._tell()

    def _read(self, name: str) -> None:
        try:
            theme = load_theme(name)
        except ConfigError as error:
            self._suspect = str(error)
            return
        self._suspect = self._told = ""
        self._good[name] = theme
        self._on_theme(theme)

    def _tell(self) -> None:
        """Once per problem, not once per save."""
        if self._suspect != self._told:
            self._told = self._suspect
            self._on_problem(f"{self._suspect} Keeping the current theme.")
        self._suspect = ""


def _stamp(path: Path) -> Stamp | None:
    """None if there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Stamp(found.st_mtime_ns, found.st_size, found.st_ino)
