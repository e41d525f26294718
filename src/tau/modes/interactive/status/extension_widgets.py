"""Extension output around the editor: lines above it, a status below it."""

from collections.abc import Sequence

from tau.modes.interactive.screen_protocols import Display
from tau.tui.component import CachedComponent, LiveComponent
from tau.tui.text.clean import clean_styled
from tau.tui.text.cut import truncate
from tau.tui.text.sgr import strip_escapes

MAX_SIGNS = 20
MAX_WIDGETS = 10
MAX_LINES = 12
MAX_CHARS = 500


class ExtensionWidgets:
    """One line for all statuses, several for each widget, ordered by key."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._below = _Lines(display)
        self._above = _Lines(display)
        self._texts: dict[str, str] = {}
        self._widgets: dict[str, list[str]] = {}

    def status(self, key: str, text: str | None) -> None:
        """None or an empty text removes it."""
        if not text:
            self._texts.pop(key, None)
        elif key in self._texts or len(self._texts) < MAX_SIGNS:
            self._texts[key] = _line(self._display, text)
        theme = self._display.theme
        separator = ", " if theme.linear else f" {theme['dim'](theme.symbols.separator)} "
        words = separator.join(self._texts[name] for name in sorted(self._texts))
        self._below.show([words] if words else [])
        self._place()

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        if not lines:
            self._widgets.pop(key, None)
        elif key in self._widgets or len(self._widgets) < MAX_WIDGETS:
            shown = [_line(self._display, line) for line in lines[:MAX_LINES]]
            if len(lines) > MAX_LINES:
                shown[-1] = self._display.theme["dim"](f"{len(lines) - MAX_LINES + 1} more lines")
            self._widgets[key] = shown
        self._above.show([line for name in sorted(self._widgets) for line in self._widgets[name]])
        self._place()

    def _place(self) -> None:
        layout = self._display.layout
        for box, lines in ((layout.above, self._above), (layout.below, self._below)):
            if not lines.lines:
                box.remove(lines)
            elif lines not in box.children:
                box.add(lines)
        self._display.request_render()


class _Lines(CachedComponent, LiveComponent):
    """One row per line, truncated to fit."""

    def __init__(self, display: Display) -> None:
        self._theme = display.theme
        self.lines: list[str] = []

    def show(self, lines: list[str]) -> None:
        self.lines, self._rows = lines, None

    def _render_rows(self, width: int) -> list[str]:
        return [truncate(line, width, self._theme.symbols.ellipsis) for line in self.lines]


def _line(display: Display, text: str) -> str:
    shown = clean_styled(text[:MAX_CHARS].replace("\n", " "))
    return strip_escapes(shown) if display.theme.depth == "none" else shown
