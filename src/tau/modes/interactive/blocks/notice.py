"""Lines that are not part of the conversation: what to know, to mind, or to mend."""

from tau.agent.ui import Level
from tau.modes.interactive.blocks.piece import KEPT_CHARS, Piece, hung, kept, wrapped
from tau.modes.interactive.blocks.scene import Scene
from tau.tui.style import Theme

_TOKENS: dict[Level, str] = {"info": "muted", "warning": "warning", "error": "error"}


class NoticeBlock(Piece):
    def __init__(self, scene: Scene, text: str, level: Level = "info") -> None:
        super().__init__(scene)
        self._text = kept(text, KEPT_CHARS // 4).rstrip()
        self._level: Level = level

    def _drawn(self, width: int) -> list[str]:
        return noticed(self._theme, self._text, self._level, width)


def noticed(theme: Theme, text: str, level: Level, width: int) -> list[str]:
    """A text with the sign of its level, in as many rows as it needs."""
    token = theme[_TOKENS[level]]
    if theme.linear:
        word = "" if level == "info" else f"{level.capitalize()}: "
        return wrapped(f"{word}{text}", width)
    symbols = theme.symbols
    sign = {"info": symbols.bullet, "warning": "!", "error": symbols.cross}[level]
    return hung(token(sign), [token(row) for row in wrapped(text, width)], width)
