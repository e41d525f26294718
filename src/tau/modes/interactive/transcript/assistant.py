"""What the model writes: its text as Markdown while it streams, and its thinking, which collapses."""

from collections.abc import Sequence

from tau.base.late import late
from tau.base.sizes import KIB
from tau.modes.interactive.transcript.block import (
    BlockContext,
    CachedBlock,
    cut_middle,
    indent_rows,
    indent_width,
    with_sign,
    wrap_text,
)
from tau.tui.component import CommitBoundary
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.widgets.loader import format_elapsed
from tau.tui.widgets.transcript import Block

markdown = late("tau.tui.widgets.markdown")

TAIL_ROWS = 5
"""Few enough never to leave the window: what collapses later must not enter the terminal history."""
_TAIL_CHARS = 4 * KIB
_SHOWN_COLUMNS = 120
_FIRST_CHARS = 200


class ThinkingBlock(CachedBlock):
    def __init__(self, context: BlockContext, text: str | None = None, *, redacted: bool = False) -> None:
        super().__init__(context)
        self._text = None if text is None else cut_middle(text)
        """None while streaming."""
        self._redacted = redacted
        self._hidden = context.hide_thinking if text is not None else None
        """Decided when the text is complete: its rows belong to the terminal from then on."""
        self._tail = ""
        self._started_at = context.now()
        self._elapsed_s: float | None = None

    def append(self, delta: str) -> None:
        self._tail = (self._tail + delta)[-_TAIL_CHARS:]
        self._rows = None

    def finish(self, text: str) -> None:
        renderers = self._context.renderers
        change = None if renderers is None else renderers.thinking()
        changed = None if change is None else change(text)
        self._text = cut_middle(changed if isinstance(changed, str) else text)
        self._hidden = self._context.hide_thinking
        self._elapsed_s = self._context.now() - self._started_at
        self._tail = ""
        self._rows = None

    def is_final(self) -> bool:
        return self._text is not None

    @property
    def can_expand(self) -> bool:
        return bool(self._text) and not self._is_hidden

    def move_to(self, context: BlockContext) -> None:
        super().move_to(context)
        self._hidden = None

    @property
    def _is_hidden(self) -> bool:
        return self._context.hide_thinking if self._hidden is None else self._hidden

    def _render_rows(self, width: int) -> Sequence[str]:
        if self._is_hidden:
            return []
        if self._text is None:
            return self._streaming_rows(width)
        if not self._text.strip():
            return self._title_rows("text withheld by the provider", "", width) if self._redacted else []
        if not self.expanded:
            words = clean_line(self._text[:_FIRST_CHARS].replace("*", ""))
            first = truncate(words, _SHOWN_COLUMNS, self._theme.symbols.ellipsis)
            return self._title_rows(first, self._theme.symbols.folded, width)
        inner = markdown.Markdown(self._theme, self._text.strip(), hyperlinks=self._context.hyperlinks)
        muted = self._theme["muted"]
        rows = [muted(row) for row in inner.render(max(width - indent_width(width), 1))]
        return [*self._title_rows("", self._theme.symbols.unfolded, width), *indent_rows(rows, width)]

    def _streaming_rows(self, width: int) -> list[str]:
        dim = self._theme["dim"]
        rows = wrap_text(self._tail.strip(), width)[-TAIL_ROWS:]
        return [dim(row) for row in with_sign("", rows, width)] if self._tail.strip() else []

    def _title_rows(self, words: str, sign: str, width: int) -> list[str]:
        theme = self._theme
        took = self._elapsed_s
        head = "Thought" if took is None or took < 1 else f"Thought for {format_elapsed(took)}"
        title = f"{head}: {words}" if words else head
        row = truncate(title, max(width - indent_width(width), 1), theme.symbols.ellipsis)
        return with_sign(theme["dim"]("" if theme.linear else sign), [theme["dim"](row)], width)


markdown = late("tau.tui.widgets.markdown")


class TextBlock(Block):
    """`append` deltas, then `finish`. Once final, it keeps only its text."""

    def __init__(self, context: BlockContext, text: str | None = None) -> None:
        self._context = context
        self._text = text
        """None while streaming."""
        self._markdown: markdown.Markdown | None = None

    def append(self, delta: str) -> None:
        self._component().append(delta)

    def finish(self, text: str) -> None:
        """Set the complete text."""
        self._text = text
        if self._markdown is not None and self._markdown.text == text:
            self._markdown.finish()
        elif self._markdown is not None:
            self._markdown.set_text(text)

    def copy_for(self, context: BlockContext) -> "TextBlock":
        """A copy that is drawn elsewhere, such as in the pager."""
        text = self._text if self._text is not None else self._component().text
        return TextBlock(context, text)

    def is_final(self) -> bool:
        return self._text is not None

    def render(self, width: int) -> Sequence[str]:
        return self._component().render(width)

    def commit_boundary(self) -> CommitBoundary | None:
        """While streaming, settled parts may scroll away."""
        return None if self._text is not None else self._component().commit_boundary()

    def invalidate(self) -> None:
        if self._text is not None:
            self._markdown = None
        elif self._markdown is not None:
            self._markdown.invalidate()

    def _component(self) -> "markdown.Markdown":
        if self._markdown is None:
            links = self._context.hyperlinks
            self._markdown = markdown.Markdown(
                self._context.theme, self._text or "", hyperlinks=links, show_urls=not links
            )
        return self._markdown
