"""What went wrong, above the editor, until the next thing is sent."""

from typing import TYPE_CHECKING

from tau.modes.interactive.transcript.notice import noticed
from tau.tui.component import CachedComponent, LiveComponent

if TYPE_CHECKING:
    from tau.modes.interactive.ports import Display

MAX_ROWS = 8
_LOOKED_AT_CHARS = 4000


class Banner(CachedComponent, LiveComponent):
    """One message at a time."""

    def __init__(self, display: "Display") -> None:
        self._display = display
        self._text = ""

    def show(self, text: str) -> None:
        if not text.strip():
            return
        self._text, self._rows = text.strip()[:_LOOKED_AT_CHARS], None
        box = self._display.layout.banner
        if not box.children:
            box.add(self)
        self._display.request_render()

    def hide(self) -> None:
        if self._display.layout.banner.children:
            self._display.layout.banner.clear()
            self._display.request_render()

    def _drawn(self, width: int) -> list[str]:
        theme = self._display.theme
        rows = noticed(theme, self._text, "error", width)
        if len(rows) > MAX_ROWS:
            rows = [*rows[: MAX_ROWS - 1], theme.symbols.ellipsis[:width]]
        return rows if theme.linear else ["", *rows]
