"""The Markdown widget: renders a complete or streaming text as styled rows."""

from collections.abc import Sequence

from tau.base.late import late
from tau.tui.component import CommitBoundary, Component
from tau.tui.rows import RowPart, Rows
from tau.tui.style import Theme
from tau.tui.widgets.markdown.document import MarkdownDocument
from tau.tui.widgets.markdown.inline import MarkdownStyle
from tau.tui.widgets.markdown.layout import Shape, ShapeLayout, indent_rows

highlighting = late("tau.tui.widgets.highlight")
parser = late("tau.tui.widgets.markdown.parse")

_CHUNKS_TO_JOIN = 32


def preload() -> None:
    """Load what the first Markdown needs, while idle."""
    parser.parse_blocks("x")
    parser.parse_inline("x", {})
    highlighting.highlight("x = 1", "python", Theme({}))


class Markdown(Component):
    """CommonMark with tables, task lists and strikethrough.

    `append` adds text, `finish` marks it complete; `set_text` does both. While a text streams, rows above
    `commit_boundary().live_start` never change, and a frame costs only what is new.
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
        self._options = MarkdownStyle(theme, hyperlinks, show_urls, join_lines)
        self._padding_x = padding_x
        self._texts: list[str] = []
        self.is_finished = False
        self._document = MarkdownDocument(self._options)
        self._shapes: list[Shape] = []
        """All settled shapes, for layout at another width."""
        self._rendered: _RenderedRows | None = None
        self._is_current = False
        if text:
            self.set_text(text)

    @property
    def text(self) -> str:
        """The complete text so far."""
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0] if self._texts else ""

    def set_text(self, text: str, *, is_finished: bool = True) -> None:
        """Replace the text. If it extends the text so far, only the new part costs."""
        known = self.text
        if not (self.is_finished and is_finished and known == text):
            if self.is_finished or not text.startswith(known):
                self._texts = []
                self.is_finished = False
                self._start_over()
                known = ""
            self.append(text[len(known) :])
            if is_finished:
                self.finish()

    def append(self, delta: str) -> None:
        if not delta:
            return
        if self.is_finished:
            self.is_finished = False
            self.invalidate()
        self._texts.append(delta)
        self._document.feed(delta)
        self._is_current = False

    def finish(self) -> None:
        """Mark the text complete: provisional rendering becomes final."""
        if not self.is_finished:
            self.is_finished = True
            self._is_current = False

    def render(self, width: int) -> Sequence[str]:
        rendered = self._rendered
        if rendered is not None and rendered.width == width and self._is_current:
            return rendered.rows
        if rendered is None or rendered.width != width:
            rendered = self._rendered = _RenderedRows(self._options.theme, width, self._padding_x)
            rendered.add(self._shapes)
        if not self._is_current:
            rendered = self._rendered = self._read(rendered)
            self._is_current = True
        if not self.is_finished:
            rendered.show_ending(self._document.ending())
        return rendered.rows

    def commit_boundary(self) -> CommitBoundary | None:
        """While the text streams, its finished blocks are final, and presumably all rows but the last."""
        if self.is_finished or self._rendered is None:
            return None
        settled, stable = self._rendered.settled_rows, len(self._rendered.stable)
        return CommitBoundary(settled, settled + stable if stable else None)

    def invalidate(self) -> None:
        self._start_over()
        self._document.feed(self.text)

    def _start_over(self) -> None:
        """Discard the parse and read the text again."""
        self._document = MarkdownDocument(self._options)
        self._shapes = []
        self._rendered = None
        self._is_current = False

    def _read(self, rendered: "_RenderedRows") -> "_RenderedRows":
        """Take in new text; on a new rendered if links in earlier blocks must be rendered again."""
        shapes = self._document.settle()
        if self.is_finished:
            shapes += self._document.finish()
            if self._document.has_late_definitions:
                self._document = MarkdownDocument(self._options, self._document.definitions)
                self._document.feed(self.text)
                shapes = [*self._document.settle(), *self._document.finish()]
                self._shapes = []
                rendered = _RenderedRows(self._options.theme, rendered.width, self._padding_x)
        self._shapes += shapes
        rendered.add(shapes)
        return rendered


class _RenderedRows:
    """The rows at one width: settled ones, written once, and an ending that is replaced."""

    def __init__(self, theme: Theme, width: int, padding_x: int) -> None:
        self.width = width
        padding = min(padding_x, max(width - 1, 0) // 2)
        self._padding = " " * padding
        self._layout = ShapeLayout(theme, width - 2 * padding)
        self._joined: list[RowPart] = []
        self._chunks: list[list[str]] = []
        """The last settled rows in pieces as they came; many are merged into one."""
        self._ending: list[str] = []
        self.settled_rows = 0
        self.stable: list[str] = []
        """The rows of the ending that will presumably stay."""
        self.rows = Rows()

    def add(self, shapes: Sequence[Shape]) -> None:
        """Add settled shapes, dropping the ending."""
        if shapes:
            rows = indent_rows(self._layout.rows(shapes), self._padding)
            self._chunks.append(rows)
            self.settled_rows += len(rows)
            self.stable = self.stable[len(rows) :]
            if len(self._chunks) >= _CHUNKS_TO_JOIN:
                self._joined.append([row for chunk in self._chunks for row in chunk])
                self._chunks.clear()
        if shapes or self._ending:
            self._ending = []
            self.rows = Rows([*self._joined, *self._chunks])

    def show_ending(self, shapes: Sequence[Shape]) -> None:
        """Set the provisional rows after the settled ones."""
        preview, stable = self._layout.stable_preview(shapes)
        rows = indent_rows(preview, self._padding)
        if rows != self._ending:
            kept = 0
            while kept < min(len(self.stable), len(rows)) and rows[kept] == self.stable[kept]:
                kept += 1
            self.stable = rows[: max(stable, kept)]
            self._ending = rows
            self.rows = Rows([*self._joined, *self._chunks, rows])
