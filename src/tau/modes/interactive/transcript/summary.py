"""What stands for other parts of the conversation: summaries, and words of those who are neither side."""

from collections.abc import Sequence

from tau.base.late import late
from tau.modes.interactive.transcript.block import (
    CachedBlock,
    first_lines,
    hung,
    indent_of,
    indented,
    kept,
    wrapped,
)
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

markdown = late("tau.tui.widgets.markdown")

_SHOWN_LINES = 4


class _Titled(CachedBlock):
    """A title on one line, and a text below it, which is not always shown."""

    def __init__(self, scene: BlockContext, title: str, text: str) -> None:
        super().__init__(scene)
        self._title = clean_line(title)
        self._text = kept(text).strip()

    @property
    def can_expand(self) -> bool:
        return True

    def _head(self, sign: str, width: int) -> list[str]:
        theme = self._theme
        title = truncate(self._title, max(width - indent_of(width), 1), theme.symbols.ellipsis)
        return hung("" if theme.linear else theme["info"](sign), [theme["info"](title)], width)


class SummaryBlock(_Titled):
    """One line, which opens to a text in Markdown."""

    def _render_rows(self, width: int) -> Sequence[str]:
        theme = self._theme
        rows = self._head(theme.symbols.unfolded if self.expanded else theme.symbols.folded, width)
        if self.expanded and self._text:
            inner = markdown.Markdown(theme, self._text, hyperlinks=self._scene.hyperlinks)
            rows += indented(inner.render(max(width - indent_of(width), 1)), width)
        return rows


class CustomBlock(_Titled):
    """What somebody other than the person and the model has said, such as a job that has ended."""

    def _render_rows(self, width: int) -> Sequence[str]:
        theme = self._theme
        shown, hidden = (self._text, 0) if self.expanded else first_lines(self._text, _SHOWN_LINES)
        rows = self._head(theme.symbols.bullet, width)
        for text, token in ((shown, "muted"), (self._scene.hint(hidden) if hidden else "", "dim")):
            if text:
                rows += indented([theme[token](row) for row in wrapped(text, width)], width)
        return rows


def compaction_title(tokens_before: int, tokens_after: int | None) -> str:
    if not tokens_before:
        return "What was said before is summarised"
    if tokens_after is None:
        return f"What was said before is summarised; it took {tokens_before:,} tokens"
    return f"What was said before is summarised: {tokens_before:,} tokens became {tokens_after:,}"
