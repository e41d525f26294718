"""Decides how many rows of a changing block may already enter the history, frame by frame.

Either of two signs is sufficient. A block seen growing at its end without changing a row above will
presumably continue to: all but its last row may go. And rows unchanged for a long time may go while those
below keep changing. A row that changes after passing that test is a slow ticker: from there on no row passes
again, or each tick would leave a copy in the history.
"""

from collections.abc import Sequence

from tau.tui.render.audit import visible_text
from tau.tui.rows import Rows

VOLATILE_REARM_FRAMES = 30
STABLE_PREFIX_COMMIT_FRAMES = 30
_BLOCK_ROWS = 256
_NO_FLOOR = 1 << 62


class LiveCommit:
    """Watches one block from its first frame until it is final."""

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
