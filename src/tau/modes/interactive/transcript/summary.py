"""Blocks for summaries and for messages from neither user nor model."""

from collections.abc import Sequence

from tau.base.late import late
from tau.modes.interactive.transcript.block import (
    BlockContext,
    CachedBlock,
    cut_middle,
    first_lines,
    indent_rows,
    indent_width,
    with_sign,
    wrap_text,
)
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

markdown = late("tau.tui.widgets.markdown")

_SHOWN_LINES = 4


class _Titled(CachedBlock):
    """A one-line title and a text below it, which can be collapsed."""

    def __init__(self, context: BlockContext, title: str, text: str) -> None:
        super().__init__(context)
        self._title = clean_line(title)
        self._text = cut_middle(text).strip()

    @property
    def can_expand(self) -> bool:
        return True

    def _head(self, sign: str, width: int) -> list[str]:
        theme = self._theme
        title = truncate(self._title, max(width - indent_width(width), 1), theme.symbols.ellipsis)
        return with_sign("" if theme.linear else theme["info"](sign), [theme["info"](title)], width)


class SummaryBlock(_Titled):
    """One line that expands to Markdown text."""

    def _render_rows(self, width: int) -> Sequence[str]:
        theme = self._theme
        rows = self._head(theme.symbols.unfolded if self.expanded else theme.symbols.folded, width)
        if self.expanded and self._text:
            inner = markdown.Markdown(theme, self._text, hyperlinks=self._context.hyperlinks)
            rows += indent_rows(inner.render(max(width - indent_width(width), 1)), width)
        return rows


class CustomBlock(_Titled):
    """A message from neither user nor model, such as a finished job."""

    @classmethod
    def of(cls, context: BlockContext, kind: str, text: str) -> "CustomBlock":
        """Its title is the first line if that is a note in brackets, else its kind."""
        first, _, rest = text.partition("\n")
        is_note = first.startswith("[") and first.endswith("]")
        return cls(context, first[1:-1], rest) if is_note else cls(context, kind, text)

    def _render_rows(self, width: int) -> Sequence[str]:
        theme = self._theme
        shown, hidden = (self._text, 0) if self.expanded else first_lines(self._text, _SHOWN_LINES)
        rows = self._head(theme.symbols.bullet, width)
        for text, token in ((shown, "muted"), (self._context.hint(hidden) if hidden else "", "dim")):
            if text:
                rows += indent_rows([theme[token](row) for row in wrap_text(text, width)], width)
        return rows


def compaction_title(tokens_before: int, tokens_after: int | None) -> str:
    if not tokens_before:
        return "Summarized earlier messages"
    if tokens_after is None:
        return f"Summarized earlier messages ({tokens_before:,} tokens)"
    return f"Summarized earlier messages: from {tokens_before:,} to {tokens_after:,} tokens"
