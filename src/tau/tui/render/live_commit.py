"""How much of a block that still changes may already go into the history: watched frame by frame.

Two signs, each sufficient. A block that was seen growing at its end without changing a row above it will
presumably go on so: all but its last row may go. And rows that stayed as they are for long may go, while
those below them keep changing. A row that changed after it had passed that test is a slow ticker: from there
on no row passes it again, else each tick would leave a copy in the history.
"""

from collections.abc import Sequence

from tau.tui.render.audit import visible
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
        """The rows of this frame; how many of them, from the first on, may go into the history.

        The last row never counts: it is where text grows.
        """
        old, self._rows = self._rows, rows
        if old is not None:
            shared = visibly_shared(old, rows)
            self._watch_growth(len(old), len(rows), shared)
            self._watch_floor(old, rows, shared)
            self._watch_prefix(len(rows), shared)
        settled = max(len(rows) - 1, 0)
        if self._grows and self._calm_frames >= VOLATILE_REARM_FRAMES:
            return settled
        return min(self._promoted, settled)

    def forget_rows(self) -> None:
        """The block is rendered anew at another width: how it behaves stays known, its rows are others."""
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
        """Rows that came in above the floor push it down, if what is between them and the floor stayed."""
        floor, added = self._floor, len(rows) - len(old)
        if added <= 0 or not shared <= floor < _NO_FLOOR:
            return
        between = old[shared:floor]
        if visibly_shared(between, rows[shared + added : floor + added]) == len(between):
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


def visibly_shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many rows both begin with that look the same, colours aside."""
    if old is new:
        return len(new)
    at = _shared_parts(old, new)
    length = min(len(old), len(new))
    while at < length:
        stop = min(at + _BLOCK_ROWS, length)
        mine, theirs = old[at:stop], new[at:stop]
        if mine != theirs:
            for one, other in zip(mine, theirs, strict=True):
                if one is not other and one != other and visible(one) != visible(other):
                    return at
                at += 1
        at = stop
    return length


def _shared_parts(old: Sequence[str], new: Sequence[str]) -> int:
    """Rows in parts that both have are the same without a look at them."""
    length = 0
    if isinstance(old, Rows) and isinstance(new, Rows):
        for mine, theirs in zip(old.parts, new.parts, strict=False):
            if mine is not theirs:
                break
            length += len(mine)
    return length
