"""The model's thinking: its last lines while it streams, then one line, expandable."""

from collections.abc import Sequence

from tau.base.late import late
from tau.base.sizes import KIB
from tau.modes.interactive.transcript.block import CachedBlock, hung, indent_of, indented, kept, wrapped
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.widgets.loader import format_elapsed

markdown = late("tau.tui.widgets.markdown")

TAIL_ROWS = 5
"""Few enough never to leave the window: what collapses later must not enter the terminal history."""
_TAIL_CHARS = 4 * KIB
_SHOWN_COLUMNS = 120
_FIRST_CHARS = 200


class ThinkingBlock(CachedBlock):
    def __init__(self, scene: BlockContext, text: str | None = None, *, redacted: bool = False) -> None:
        super().__init__(scene)
        self._text = None if text is None else kept(text)
        """None while streaming."""
        self._redacted = redacted
        self._tail = ""
        self._began = scene.now()
        self._elapsed_s: float | None = None

    def append(self, delta: str) -> None:
        self._tail = (self._tail + delta)[-_TAIL_CHARS:]
        self._rows = None

    def finish(self, text: str) -> None:
        self._text = kept(text)
        self._elapsed_s = self._scene.now() - self._began
        self._tail = ""
        self._rows = None

    def is_final(self) -> bool:
        return self._text is not None

    @property
    def can_expand(self) -> bool:
        return bool(self._text) and not self._scene.hide_thinking

    def _render_rows(self, width: int) -> Sequence[str]:
        if self._scene.hide_thinking:
            return []
        if self._text is None:
            return self._arriving(width)
        if not self._text.strip():
            return self._titled("text withheld by the provider", "", width) if self._redacted else []
        if not self.expanded:
            words = clean_line(self._text[:_FIRST_CHARS].replace("*", ""))
            first = truncate(words, _SHOWN_COLUMNS, self._theme.symbols.ellipsis)
            return self._titled(first, self._theme.symbols.folded, width)
        inner = markdown.Markdown(self._theme, self._text.strip(), hyperlinks=self._scene.hyperlinks)
        muted = self._theme["muted"]
        rows = [muted(row) for row in inner.render(max(width - indent_of(width), 1))]
        return [*self._titled("", self._theme.symbols.unfolded, width), *indented(rows, width)]

    def _arriving(self, width: int) -> list[str]:
        dim = self._theme["dim"]
        rows = wrapped(self._tail.strip(), width)[-TAIL_ROWS:]
        return [dim(row) for row in hung("", rows, width)] if self._tail.strip() else []

    def _titled(self, words: str, sign: str, width: int) -> list[str]:
        theme = self._theme
        took = self._elapsed_s
        head = "Thought" if took is None or took < 1 else f"Thought for {format_elapsed(took)}"
        told = f"{head}: {words}" if words else head
        row = truncate(told, max(width - indent_of(width), 1), theme.symbols.ellipsis)
        return hung(theme["dim"]("" if theme.linear else sign), [theme["dim"](row)], width)
