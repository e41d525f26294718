"""The Markdown widget: a text, whole or still arriving, as styled rows."""

from collections.abc import Sequence

from tau.base.late import late
from tau.tui.component import CommitBoundary, Component
from tau.tui.rows import RowPart, Rows
from tau.tui.style import Theme
from tau.tui.widgets.markdown.document import MarkdownDocument
from tau.tui.widgets.markdown.inline import MarkdownStyle
from tau.tui.widgets.markdown.layout import ShapeLayout, padded
from tau.tui.widgets.markdown.shapes import Shape

highlighting = late("tau.tui.widgets.highlight")
parser = late("tau.tui.widgets.markdown.parse")

_CHUNKS_TO_JOIN = 32


def preload() -> None:
    """Loads what the first Markdown needs, at a moment when nobody waits."""
    parser.parse_blocks("x")
    parser.parse_inline("x", {})
    highlighting.highlight("x = 1", "python", Theme({}))


class Markdown(Component):
    """CommonMark with tables, task lists and strikethrough.

    `append` takes more of a text, `finish` says that it is complete; `set_text` does both. While a text
    arrives, rows above `seam().live_start` never change, and a frame costs what is new.
    """

    def __init__(
        self,
        theme: Theme,
        text: str = "",
        padding_x: int = 0,
        *,
        hyperlinks: bool = True,
        show_urls: bool = False,
        join_lines: bool = False,
    ) -> None:
        self._look = MarkdownStyle(theme, hyperlinks, show_urls, join_lines)
        self._padding_x = padding_x
        self._texts: list[str] = []
        self._is_finished = False
        self._document = MarkdownDocument(self._look)
        self._shapes: list[Shape] = []
        """All that is settled, to lay it out at another width."""
        self._paper: _Paper | None = None
        self._is_current = False
        if text:
            self.set_text(text)

    @property
    def text(self) -> str:
        """All that was given."""
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0] if self._texts else ""

    @property
    def is_finished(self) -> bool:
        return self._is_finished

    def set_text(self, text: str, *, is_finished: bool = True) -> None:
        """Another text. One that begins with the text so far costs only what it adds."""
        known = self.text
        if not (self._is_finished and is_finished and known == text):
            if self._is_finished or not text.startswith(known):
                self._texts = []
                self._is_finished = False
                self._start_over()
                known = ""
            self.append(text[len(known) :])
            if is_finished:
                self.finish()

    def append(self, delta: str) -> None:
        """More of the text."""
        if not delta:
            return
        if self._is_finished:
            self._is_finished = False
            self.invalidate()
        self._texts.append(delta)
        self._document.feed(delta)
        self._is_current = False

    def finish(self) -> None:
        """The text is complete: what was shown in a provisional way is shown as it is."""
        if not self._is_finished:
            self._is_finished = True
            self._is_current = False

    def render(self, width: int) -> Sequence[str]:
        paper = self._paper
        if paper is not None and paper.width == width and self._is_current:
            return paper.rows
        if paper is None or paper.width != width:
            paper = self._paper = _Paper(self._look.theme, width, self._padding_x)
            paper.add(self._shapes)
        if not self._is_current:
            paper = self._paper = self._read(paper)
            self._is_current = True
        if not self._is_finished:
            paper.show_ending(self._document.ending())
        return paper.rows

    def seam(self) -> CommitBoundary | None:
        """While the text arrives: its finished blocks are final."""
        if self._is_finished or self._paper is None:
            return None
        return CommitBoundary(self._paper.settled_rows)

    def invalidate(self) -> None:
        self._start_over()
        self._document.feed(self.text)

    def _start_over(self) -> None:
        """Forgets what was read; the text is read again."""
        self._document = MarkdownDocument(self._look)
        self._shapes = []
        self._paper = None
        self._is_current = False

    def _read(self, paper: "_Paper") -> "_Paper":
        """Takes up what is new; on another sheet if links in earlier blocks are to be written anew."""
        shapes = self._document.settle()
        if self._is_finished:
            shapes += self._document.finish()
            if self._document.has_late_definitions:
                self._document = MarkdownDocument(self._look, self._document.definitions)
                self._document.feed(self.text)
                shapes = [*self._document.settle(), *self._document.finish()]
                self._shapes = []
                paper = _Paper(self._look.theme, paper.width, self._padding_x)
        self._shapes += shapes
        paper.add(shapes)
        return paper


class _Paper:
    """The rows at one width: settled ones, which are written once, and an ending that is written over."""

    def __init__(self, theme: Theme, width: int, padding_x: int) -> None:
        self.width = width
        padding = min(padding_x, max(width - 1, 0) // 2)
        self._padding = " " * padding
        self._layout = ShapeLayout(theme, width - 2 * padding)
        self._joined: list[RowPart] = []
        self._chunks: list[list[str]] = []
        """The last settled rows in the pieces in which they came; many are joined to one."""
        self._ending: list[str] = []
        self.settled_rows = 0
        self.rows = Rows()

    def add(self, shapes: Sequence[Shape]) -> None:
        """More settled shapes; the ending is gone."""
        if shapes:
            rows = padded(self._layout.rows(shapes), self._padding)
            self._chunks.append(rows)
            self.settled_rows += len(rows)
            if len(self._chunks) >= _CHUNKS_TO_JOIN:
                self._joined.append([row for chunk in self._chunks for row in chunk])
                self._chunks.clear()
        if shapes or self._ending:
            self._ending = []
            self.rows = Rows([*self._joined, *self._chunks])

    def show_ending(self, shapes: Sequence[Shape]) -> None:
        """What comes after the settled rows, for now."""
        rows = padded(self._layout.preview(shapes), self._padding)
        if rows != self._ending:
            self._ending = rows
            self.rows = Rows([*self._joined, *self._chunks, rows])
