"""What stands for other parts of the conversation: summaries, and words of those who are neither side."""

from collections.abc import Sequence

from tau.base.late import late
from tau.modes.interactive.blocks.piece import Piece, first_lines, hung, indent_of, indented, kept, wrapped
from tau.modes.interactive.blocks.scene import Scene
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate

markdown = late("tau.tui.widgets.markdown")

_SHOWN_LINES = 4


class SummaryBlock(Piece):
    """One line, which opens to a text in Markdown."""

    def __init__(self, scene: Scene, title: str, text: str) -> None:
        super().__init__(scene)
        self._title = clean_line(title)
        self._text = kept(text).strip()

    @property
    def can_expand(self) -> bool:
        return True

    def _drawn(self, width: int) -> Sequence[str]:
        theme = self._theme
        symbols = theme.symbols
        sign = "" if theme.linear else symbols.unfolded if self.expanded else symbols.folded
        title = theme["info"](truncate(self._title, max(width - indent_of(width), 1), symbols.ellipsis))
        rows = hung(theme["info"](sign), [title], width)
        if self.expanded and self._text:
            inner = markdown.Markdown(theme, self._text, hyperlinks=self._scene.hyperlinks)
            rows += indented(inner.render(max(width - indent_of(width), 1)), width)
        return rows


class CustomBlock(Piece):
    """What somebody other than the person and the model has said, such as a job that has ended."""

    def __init__(self, scene: Scene, kind: str, text: str) -> None:
        super().__init__(scene)
        self._kind = clean_line(kind)
        self._text = kept(text).strip()

    @property
    def can_expand(self) -> bool:
        return True

    def _drawn(self, width: int) -> Sequence[str]:
        theme = self._theme
        shown, hidden = (self._text, 0) if self.expanded else first_lines(self._text, _SHOWN_LINES)
        sign = "" if theme.linear else theme["info"](theme.symbols.bullet)
        title = truncate(self._kind, max(width - indent_of(width), 1), theme.symbols.ellipsis)
        rows = hung(sign, [theme["info"](title)], width)
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
