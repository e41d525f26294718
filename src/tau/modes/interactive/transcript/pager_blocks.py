"""The transcript for the pager: copies of its blocks, expanded, made when they are shown."""

from collections.abc import Callable, Sequence

from tau.modes.interactive.dialogs.paged_rows import PagerBlock
from tau.modes.interactive.transcript.assistant import TextBlock
from tau.modes.interactive.transcript.block import BlockContext, CachedBlock
from tau.modes.interactive.transcript.user import UserBlock
from tau.tui.component import Component
from tau.tui.widgets.transcript import Block


class TranscriptPagerBlock:
    """A block of the transcript, expanded at first."""

    def __init__(self, block: Component, collapsed: BlockContext, expanded: BlockContext) -> None:
        self._block = block
        self._contexts = collapsed, expanded
        self.expanded = True
        self._rows: Sequence[str] | None = None
        self._width = -1

    @property
    def is_prompt(self) -> bool:
        return isinstance(self._block, UserBlock)

    @property
    def can_expand(self) -> bool:
        return isinstance(self._block, CachedBlock) and self._block.can_expand

    def expand(self, expanded: bool) -> None:
        self.expanded = expanded
        self._rows = None

    def rows(self, width: int) -> Sequence[str]:
        """Kept once the block is final; until then it may have changed."""
        if self._rows is not None and width == self._width:
            return self._rows
        block = self._block
        is_final = not isinstance(block, Block) or block.is_final()
        if isinstance(block, CachedBlock | TextBlock):
            block = block.copy_for(self._contexts[self.expanded])
        rows = block.render(width)
        self._rows, self._width = rows if is_final else None, width
        return rows


class TranscriptPagerBlocks:
    """The blocks of a transcript, as many as it has by now."""

    def __init__(
        self, blocks: Callable[[], Sequence[Component]], collapsed: BlockContext, expanded: BlockContext
    ) -> None:
        self._blocks = blocks
        self._contexts = collapsed, expanded
        self._known: dict[int, tuple[Component, TranscriptPagerBlock]] = {}
        self._shown: list[PagerBlock] = []
        self._seen: list[Component] = []

    def __call__(self) -> Sequence[PagerBlock]:
        now = self._blocks()
        if len(now) != len(self._seen) or any(a is not b for a, b in zip(now, self._seen, strict=True)):
            self._seen = list(now)
            known = {id(block): self._known.get(id(block)) for block in now}
            self._known = {
                id(block): known[id(block)] or (block, TranscriptPagerBlock(block, *self._contexts))
                for block in now
            }
            self._shown = [self._known[id(block)][1] for block in now]
        return self._shown
