"""What went wrong, above the editor, until the next thing is sent."""

from typing import TYPE_CHECKING

from tau.agent.ui import NoticeLevel
from tau.modes.interactive.transcript.notice import noticed
from tau.tui.component import CachedComponent, LiveComponent

if TYPE_CHECKING:
    from tau.modes.interactive.app import App

MAX_ROWS = 8
_LOOKED_AT_CHARS = 4000


class Banner(CachedComponent, LiveComponent):
    """One message at a time. What the transcript has just said is not said again here."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._text = ""
        self._level: NoticeLevel = "error"

    def show(self, text: str, level: NoticeLevel = "error") -> None:
        if not text.strip() or text == self._app.events.told:
            return
        self._text, self._level, self._rows = text.strip()[:_LOOKED_AT_CHARS], level, None
        box = self._app.layout.banner
        if not box.children:
            box.add(self)
        self._app.screen.request_render()

    def hide(self) -> None:
        if self._app.layout.banner.children:
            self._app.layout.banner.clear()
            self._app.screen.request_render()

    def _drawn(self, width: int) -> list[str]:
        theme = self._app.theme
        rows = noticed(theme, self._text, self._level, width)
        if len(rows) > MAX_ROWS:
            rows = [*rows[: MAX_ROWS - 1], theme.symbols.ellipsis[:width]]
        return rows if theme.linear else ["", *rows]
