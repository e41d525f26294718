"""The user's messages."""

from collections.abc import Sequence

from tau.ai.wire import ImageContent, TextContent, UserContent, text_of
from tau.modes.interactive.transcript.block import (
    BlockContext,
    CachedBlock,
    cut_middle,
    first_lines,
    with_sign,
    wrap_text,
)

MARK = "[Image #"
"""The start of the editor's image placeholder."""
FOLDED_LINES = 16
"""A longer message, most likely a paste, shows this many lines."""


class UserBlock(CachedBlock):
    def __init__(self, context: BlockContext, content: str | Sequence[UserContent]) -> None:
        super().__init__(context)
        self._text = cut_middle(content if isinstance(content, str) else text_of(content))
        parts = [] if isinstance(content, str) else content
        images = [_describe(part) for part in parts if isinstance(part, ImageContent)]
        self._images = images[self._text.count(MARK) :]
        """Images the text does not mention."""

    @property
    def can_expand(self) -> bool:
        return first_lines(self._text, FOLDED_LINES)[1] > 0

    def _render_rows(self, width: int) -> list[str]:
        theme = self._theme
        text, hidden = (self._text, 0) if self.expanded else first_lines(self._text, FOLDED_LINES)
        style = theme["userText"]
        rows = [style(row) for row in wrap_text(f"{'You: ' if theme.linear else ''}{text.rstrip()}", width)]
        notes = [*([self._context.hint(hidden)] if hidden else []), *self._images]
        for note in notes:
            rows += [theme["muted"](row) for row in wrap_text(note, width)]
        if theme.linear:
            return rows
        sign, bar = theme.symbols.pointer, theme.symbols.quote
        return with_sign(theme["selected"](sign), rows, width, theme["selected"](bar))


def without_images(content: Sequence[UserContent]) -> list[UserContent]:
    """Replace images by a short text."""
    return [TextContent(_describe(part)) if isinstance(part, ImageContent) else part for part in content]


def _describe(image: ImageContent) -> str:
    return f"[Image: {image.mime_type}]"
