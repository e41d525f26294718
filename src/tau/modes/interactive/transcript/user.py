"""The user's messages."""

from collections.abc import Sequence

from tau.ai.wire import ImageContent, UserContent, text_of
from tau.modes.interactive.transcript.block import CachedBlock, first_lines, hung, kept, wrapped
from tau.modes.interactive.transcript.block_context import BlockContext

MARK = "[Image #"
"""The start of the editor's image placeholder."""
FOLDED_LINES = 16
"""A longer message, most likely a paste, shows this many lines."""


class UserBlock(CachedBlock):
    def __init__(self, scene: BlockContext, content: str | Sequence[UserContent]) -> None:
        super().__init__(scene)
        self._text = kept(content if isinstance(content, str) else text_of(content))
        pictures = [] if isinstance(content, str) else [picture(part) for part in content if is_picture(part)]
        self._pictures = pictures[self._text.count(MARK) :]
        """Images the text does not mention."""

    @property
    def can_expand(self) -> bool:
        return first_lines(self._text, FOLDED_LINES)[1] > 0

    def _render_rows(self, width: int) -> list[str]:
        theme = self._theme
        text, hidden = (self._text, 0) if self.expanded else first_lines(self._text, FOLDED_LINES)
        style = theme["userText"]
        said = f"You: {text.rstrip()}" if theme.linear else text.rstrip()
        rows = [style(row) for row in wrapped(said, width)]
        notes = [*([self._scene.hint(hidden)] if hidden else []), *self._pictures]
        for note in notes:
            rows += [theme["muted"](row) for row in wrapped(note, width)]
        if theme.linear:
            return rows
        return hung(theme["selected"](theme.symbols.pointer), rows, width)


def is_picture(part: UserContent) -> bool:
    return isinstance(part, ImageContent)


def picture(part: UserContent) -> str:
    """A short text instead of an image."""
    assert isinstance(part, ImageContent)
    return f"[Image: {part.mime_type}]"
