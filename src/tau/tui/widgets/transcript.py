"""The transcript: blocks one below the other that freeze when they are final, above what still changes."""

from collections.abc import Iterable, Sequence

from tau.tui.component import CommitBoundary, Component
from tau.tui.render.live_commit import LiveCommit
from tau.tui.rows import RowLog, RowPart, Rows


class Block(Component):
    """A component that knows whether it may still change."""

    def is_final(self) -> bool:
        """Once true, always true: its rows are taken as they are then."""
        return True


class Transcript(Component):
    """Shows its blocks in order. Blocks without `is_final` are final from the start.

    A final block, with none before it that changes, is rendered once and never asked again until the width or
    the theme changes; its rows are kept here only once. Everything from the first block that may still change
    on is rendered in each frame. It always has a seam, so that what stands below it never scrolls away.
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
        """All of them, the oldest first. Not to be changed by the caller."""
        return self._blocks

    def add(self, *blocks: Component) -> None:
        """More blocks at the end."""
        self._blocks += blocks

    def remove_last(self) -> Component | None:
        """Take the last block away. Rows of it that are in the terminal's history stay there."""
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
        """Forget up to `count` of the oldest blocks, final ones whose rows lie within the first `most_rows`.

        How many rows they took, for `Screen.forget_rows`: the terminal's history keeps them.
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
        """No blocks."""
        self._blocks.clear()
        self.rebuild()

    def rebuild(self) -> None:
        """Ask every block for its rows again with the next frame: they show more, or less, than before.

        What is in the terminal's history changes only if the screen is told to clear it as well.
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

    def seam(self) -> CommitBoundary:
        return self._seam

    def _freeze(self) -> None:
        """Take over the rows of blocks that are final, up to the first that is not."""
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
            # The rows are here now; what the block keeps to render quickly again would be a second copy.
            block.invalidate()
        if len(self._log_ends) > first:
            self._frozen = self._log.snapshot()

    def _observed(self, block: Component, rows: Sequence[str]) -> int:
        """How many of its rows are settled: as the block says itself, or as it has behaved so far."""
        seam = block.seam()
        if seam is not None:
            return min(seam.live_start if seam.commit_safe_end is None else seam.commit_safe_end, len(rows))
        if self._live is None or self._live_block is not block:
            self._live, self._live_block = LiveCommit(), block
        return self._live.observe(rows)


def _is_final(block: Component) -> bool:
    is_final = getattr(block, "is_final", None)
    return True if is_final is None else bool(is_final())
