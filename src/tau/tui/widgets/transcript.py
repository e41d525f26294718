"""The transcript: stacked blocks that freeze when final."""

from collections.abc import Iterable, Sequence

from tau.tui.component import CommitBoundary, Component
from tau.tui.render.audit import visible_text
from tau.tui.rows import RowLog, RowPart, Rows

VOLATILE_REARM_FRAMES = 30
STABLE_PREFIX_COMMIT_FRAMES = 30
_BLOCK_ROWS = 256
_NO_FLOOR = 1 << 62


class LiveCommit:
    """Decides how many rows of a changing block may already enter the history, frame by frame.

    Either of two signs is sufficient. A block seen growing at its end without changing a row above will
    presumably continue to: all but its last row may go. And rows unchanged for a long time may go while those
    below keep changing. A row that changes after passing that test is a slow ticker: from there on no row
    passes again, or each tick would leave a copy in the history.
    """

    __slots__ = ("_calm_frames", "_floor", "_grows", "_least", "_promoted", "_rows", "_watched_frames")

    def __init__(self) -> None:
        self._rows: Sequence[str] | None = None
        self._grows = False
        self._calm_frames = VOLATILE_REARM_FRAMES
        self._promoted = 0
        self._least = _NO_FLOOR
        self._watched_frames = 0
        self._floor = _NO_FLOOR

    def observe(self, rows: Sequence[str]) -> int:
        """Record the rows of this frame; returns how many leading rows may enter the history.

        The last row never counts: it is where text grows.
        """
        old, self._rows = self._rows, rows
        if old is not None:
            shared = count_shared_rows(old, rows)
            self._watch_growth(len(old), len(rows), shared)
            self._watch_floor(old, rows, shared)
            self._watch_prefix(len(rows), shared)
        settled = max(len(rows) - 1, 0)
        if self._grows and self._calm_frames >= VOLATILE_REARM_FRAMES:
            return settled
        return min(self._promoted, settled)

    def forget_rows(self) -> None:
        """Forget the rows after a width change, but keep what is known of the block's behavior."""
        self._rows = None
        self._promoted = 0
        self._least = self._floor = _NO_FLOOR
        self._watched_frames = 0

    def _watch_growth(self, before: int, now: int, shared: int) -> None:
        if shared < before - 1:
            self._calm_frames = 0
        else:
            self._calm_frames += 1
            self._grows = self._grows or now > before

    def _watch_floor(self, old: Sequence[str], rows: Sequence[str], shared: int) -> None:
        """Rows inserted above the floor push it down, if the rows between are unchanged."""
        floor, added = self._floor, len(rows) - len(old)
        if added <= 0 or not shared <= floor < _NO_FLOOR:
            return
        between = old[shared:floor]
        if count_shared_rows(between, rows[shared + added : floor + added]) == len(between):
            self._floor = floor + added

    def _watch_prefix(self, now: int, shared: int) -> None:
        if shared < self._promoted:
            self._promoted = shared
            self._floor = min(self._floor, shared)
            self._least = _NO_FLOOR
            self._watched_frames = 0
            return
        self._least = min(self._least, shared)
        self._watched_frames += 1
        if self._watched_frames >= STABLE_PREFIX_COMMIT_FRAMES:
            self._promoted = max(self._promoted, min(self._least, self._floor, now - 1))
            self._least = _NO_FLOOR
            self._watched_frames = 0


def count_shared_rows(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many leading rows look the same, ignoring colors."""
    if old is new:
        return len(new)
    at = _shared_parts(old, new)
    length = min(len(old), len(new))
    while at < length:
        stop = min(at + _BLOCK_ROWS, length)
        mine, theirs = old[at:stop], new[at:stop]
        if mine != theirs:
            for one, other in zip(mine, theirs, strict=True):
                if one is not other and one != other and visible_text(one) != visible_text(other):
                    return at
                at += 1
        at = stop
    return length


def _shared_parts(old: Sequence[str], new: Sequence[str]) -> int:
    """Count rows in shared parts, which are equal without comparison."""
    length = 0
    if isinstance(old, Rows) and isinstance(new, Rows):
        for mine, theirs in zip(old.parts, new.parts, strict=False):
            if mine is not theirs:
                break
            length += len(mine)
    return length


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
        self._is_below = False
        self._width = -1
        self._log = RowLog()
        self._log_ends: list[int] = []
        self._frozen: RowPart = []
        self._live: LiveCommit | None = None
        self._live_block: Component | None = None
        self._parts: list[RowPart] = []
        self._rows = Rows()
        self._boundary = CommitBoundary(0)
        self._live_starts: list[int] = []

    @property
    def blocks(self) -> Sequence[Component]:
        """All blocks, oldest first. Callers must not modify it."""
        return self._blocks

    def add(self, *blocks: Component) -> None:
        self._blocks += blocks

    def remove_last(self) -> Component | None:
        """Remove the last block. Its rows in the terminal's history stay."""
        if not self._blocks:
            return None
        if len(self._log_ends) == len(self._blocks):
            self._log_ends.pop()
            self._replace_log(self._frozen[: self._log_ends[-1] if self._log_ends else 0])
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
        self._is_below = False
        self._replace_log(self._frozen[rows:])
        self._log_ends = [end - rows for end in self._log_ends[len(ends) :]]
        del self._blocks[: len(ends)]
        return rows

    def clear(self, *, below: bool = False) -> None:
        """Remove all blocks; `below`: what follows keeps its distance from what the terminal shows."""
        self._is_below = below
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
        end = frozen_length
        self._live_starts = []
        for index in range(len(self._log_ends), len(self._blocks)):
            block = self._blocks[index]
            rows = block.render(width)
            is_first = index == len(self._log_ends)
            settled = self._count_settled(block, rows) if is_first else 0
            self._live_starts.append(end)
            if not len(rows):
                continue
            if (parts or self._is_below) and self._between:
                parts.append(self._between)
                end += len(self._between)
            end += len(rows)
            if settled:
                safe_end = end - len(rows) + settled
            parts.append(rows)
        self._boundary = CommitBoundary(frozen_length, safe_end)
        if len(parts) != len(self._parts) or any(a is not b for a, b in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._rows = Rows(parts)
        return self._rows

    def commit_boundary(self) -> CommitBoundary:
        return self._boundary

    def block_starts(self) -> Sequence[int]:
        return [*[0, *self._log_ends][: len(self._log_ends)], *self._live_starts]

    def _freeze(self) -> None:
        """Store the rows of final blocks, up to the first that is not."""
        first = len(self._log_ends)
        for block in self._blocks[first:]:
            if not _is_final(block):
                break
            rows = block.render(self._width)
            if len(rows):
                if len(self._log) or self._is_below:
                    self._log.extend(self._between)
                self._log.extend(rows)
            self._log_ends.append(len(self._log))
            # The rows are stored here now; the block's cache would be a second copy.
            block.invalidate()
        if len(self._log_ends) > first:
            self._frozen = self._log.snapshot()

    def _replace_log(self, rows: Sequence[str]) -> None:
        self._log = RowLog()
        self._log.extend(rows)
        self._frozen = self._log.snapshot()

    def _count_settled(self, block: Component, rows: Sequence[str]) -> int:
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
