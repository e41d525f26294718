"""Lines outside the conversation: information, warnings and errors."""

from tau.agent.ui import NoticeLevel
from tau.modes.interactive.transcript.block import KEPT_CHARS, CachedBlock, hung, indent_of, kept, wrapped
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

_TYPED_CHARS = 400
_TOKENS: dict[NoticeLevel, str] = {"info": "muted", "warning": "warning", "error": "error"}


class NoticeBlock(CachedBlock):
    """`typed` is the command it answers, shown above."""

    def __init__(self, scene: BlockContext, text: str, level: NoticeLevel = "info", typed: str = "") -> None:
        super().__init__(scene)
        self._typed = clean_line(typed[:_TYPED_CHARS])
        self._text = kept(text, KEPT_CHARS // 4).rstrip()
        self._level: NoticeLevel = level

    def _render_rows(self, width: int) -> list[str]:
        theme = self._theme
        if not self._typed:
            return noticed(theme, self._text, self._level, width)
        if theme.linear:
            return [*wrapped(f"Answer to {self._typed}:", width), *wrapped(self._text, width)]
        sign, token = theme.symbols.pointer, theme[_TOKENS[self._level]]
        typed = truncate(self._typed, max(width - indent_of(width), 1), theme.symbols.ellipsis)
        rows = [token(row) for row in wrapped(self._text, width)]
        return hung(theme["dim"](sign), [theme["dim"](typed), *rows], width)


def noticed(theme: Theme, text: str, level: NoticeLevel, width: int) -> list[str]:
    """A text with the sign of its level, wrapped."""
    token = theme[_TOKENS[level]]
    if theme.linear:
        word = "" if level == "info" else f"{level.capitalize()}: "
        return wrapped(f"{word}{text}", width)
    symbols = theme.symbols
    sign = {"info": symbols.bullet, "warning": "!", "error": symbols.cross}[level]
    return hung(token(sign), [token(row) for row in wrapped(text, width)], width)
