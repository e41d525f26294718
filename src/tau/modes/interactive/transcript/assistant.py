"""The model's text, rendered as Markdown while it streams."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.tui.component import CommitBoundary
from tau.tui.widgets.transcript import Block

if TYPE_CHECKING:
    from tau.tui.widgets.markdown import Markdown

markdown = late("tau.tui.widgets.markdown")


class TextBlock(Block):
    """`append` deltas, then `finish`. Once final, it keeps only its text."""

    def __init__(self, scene: BlockContext, text: str | None = None) -> None:
        self._scene = scene
        self._text = text
        """None while streaming."""
        self._markdown: Markdown | None = None

    def append(self, delta: str) -> None:
        self._component().append(delta)

    def finish(self, text: str) -> None:
        """Set the complete text."""
        self._text = text
        if self._markdown is not None and self._markdown.text == text:
            self._markdown.finish()
        elif self._markdown is not None:
            self._markdown.set_text(text)

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

    def _component(self) -> "Markdown":
        made: Markdown | None = self._markdown
        if made is None:
            links = self._scene.hyperlinks
            made = self._markdown = markdown.Markdown(
                self._scene.theme, self._text or "", hyperlinks=links, show_urls=not links
            )
        assert made is not None
        return made
