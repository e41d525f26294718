"""The transcript: stacked blocks that freeze when final."""

from collections.abc import Iterable, Sequence

from tau.tui.component import CommitBoundary, Component
from tau.tui.render.live_commit import LiveCommit
from tau.tui.rows import RowLog, RowPart, Rows


class Block(Component):
    """A component that knows whether it may still change."""

    def is_final(self) -> bool:
        """Whether it is final; once true, always true, and its rows are frozen."""
        return True


class Transcript(Component):
    """Shows its blocks in order. Blocks without `is_final` are final from the start.

    A final block with no changing block before it is rendered once, until the width or the theme changes; its
    rows are stored here only once. Everything from the first changing block on is rendered in each frame. It
    always has a commit boundary, so that rows below it never scroll away.
    """

    def __init__(self, blocks: Iterable[Component] = (), *, spacing: int = 1) -> None:
        self._blocks: list[Component] = list(blocks)
        self._between = [""] * spacing
        self._width = -1
        self._log = RowLog()
        self._log_ends: list[int] = []
        self._frozen: RowPart = []
        self._live: LiveCommit | None = None
        self._live_block: Component | None = None
        self._parts: list[RowPart] = []
        self._rows = Rows()
        self._seam = CommitBoundary(0)

    @property
    def blocks(self) -> Sequence[Component]:
        """All blocks, oldest first. Callers must not modify it."""
        return self._blocks

    def add(self, *blocks: Component) -> None:
        """Append blocks."""
        self._blocks += blocks

    def remove_last(self) -> Component | None:
        """Remove the last block. Its rows in the terminal's history stay."""
        if not self._blocks:
            return None
        if len(self._log_ends) == len(self._blocks):
            self._log_ends.pop()
            kept = self._log.snapshot()[: self._log_ends[-1] if self._log_ends else 0]
            self._log = RowLog()
            self._log.extend(kept)
            self._frozen = self._log.snapshot()
        return self._blocks.pop()

    def drop_first(self, count: int, most_rows: int) -> int:
        """Drop up to `count` of the oldest blocks, if final and within the first `most_rows` rows.

        Returns how many rows they had, for `Screen.forget_rows`: the terminal's history keeps them.
        """
        spacing = len(self._between)
        ends = self._log_ends[: min(count, len(self._log_ends) - 1)]
        while ends and ends[-1] + spacing > most_rows:
            ends.pop()
        if not ends:
            return 0
        rows = ends[-1] + spacing
        kept = self._log.snapshot()[rows:]
        self._log = RowLog()
        self._log.extend(kept)
        self._log_ends = [end - rows for end in self._log_ends[len(ends) :]]
        self._frozen = self._log.snapshot()
        del self._blocks[: len(ends)]
        return rows

    def clear(self) -> None:
        """Remove all blocks."""
        self._blocks.clear()
        self.rebuild()

    def rebuild(self) -> None:
        """Render every block again in the next frame, because they show more or less than before.

        Rows in the terminal's history do not change.
        """
        self._log = RowLog()
        self._log_ends = []
        self._frozen = []
        if self._live is not None:
            self._live.forget_rows()

    def invalidate(self) -> None:
        for block in self._blocks:
            block.invalidate()
        self.rebuild()

    def render(self, width: int) -> Rows:
        if width != self._width:
            self._width = width
            self.rebuild()
        self._freeze()
        parts: list[RowPart] = [self._frozen] if len(self._frozen) else []
        frozen_length = len(self._frozen)
        safe_end = None
        for index in range(len(self._log_ends), len(self._blocks)):
            block = self._blocks[index]
            rows = block.render(width)
            is_first = index == len(self._log_ends)
            settled = self._observed(block, rows) if is_first else 0
            if not len(rows):
                continue
            if parts and self._between:
                parts.append(self._between)
            if settled:
                safe_end = frozen_length + (len(self._between) if frozen_length else 0) + settled
            parts.append(rows)
        self._seam = CommitBoundary(frozen_length, safe_end)
        if len(parts) != len(self._parts) or any(a is not b for a, b in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._rows = Rows(parts)
        return self._rows

    def commit_boundary(self) -> CommitBoundary:
        return self._seam

    def _freeze(self) -> None:
        """Store the rows of final blocks, up to the first that is not."""
        first = len(self._log_ends)
        for block in self._blocks[first:]:
            if not _is_final(block):
                break
            rows = block.render(self._width)
            if len(rows):
                if len(self._log):
                    self._log.extend(self._between)
                self._log.extend(rows)
            self._log_ends.append(len(self._log))
            # The rows are stored here now; the block's cache would be a second copy.
            block.invalidate()
        if len(self._log_ends) > first:
            self._frozen = self._log.snapshot()

    def _observed(self, block: Component, rows: Sequence[str]) -> int:
        """Return how many of its rows are settled, as reported by the block or inferred from its behavior."""
        boundary = block.commit_boundary()
        if boundary is not None:
            return min(
                boundary.live_start if boundary.commit_safe_end is None else boundary.commit_safe_end,
                len(rows),
            )
        if self._live is None or self._live_block is not block:
            self._live, self._live_block = LiveCommit(), block
        return self._live.observe(rows)


def _is_final(block: Component) -> bool:
    is_final = getattr(block, "is_final", None)
    return True if is_final is None else bool(is_final())
