"""The audit of committed rows: has something above the window moved, so that rows would be lost or skipped?

A component must not change rows that are in the history. If one does, an edit in place is let go (the history
keeps the old text), but an insertion or a deletion shifts all that follows: then the rows from there on are
written once more. Better twice than never. Each committed row is remembered as a hash of its visible text.
"""

from array import array
from collections.abc import Sequence

from tau.tui.text.sgr import strip_escapes

TAIL_ROWS = 24
SAMPLE_ROWS = 8
_MASK = (1 << 64) - 1
_BLOCK_ROWS = 512


def visible(row: str) -> str:
    """The text of a row without its sequences and without blanks at its end."""
    return strip_escapes(row).rstrip()


class Audit:
    """Remembers what was committed. One owner: the painter."""

    __slots__ = ("_hashes", "_passed")

    def __init__(self) -> None:
        self._hashes = array("Q")
        # The tail that was found in order last: the same rows again need no second look.
        self._passed: list[str] | None = None

    def __len__(self) -> int:
        return len(self._hashes)

    def commit(self, rows: Sequence[str]) -> None:
        """More rows have entered the history."""
        if rows:
            self._hashes.extend([_hash(row) for row in rows])
            self._passed = None

    def truncate(self, length: int) -> None:
        """Only the first `length` rows still count as committed."""
        if length < len(self._hashes):
            del self._hashes[length:]
            self._passed = None

    def forget(self, count: int) -> None:
        """The first `count` rows left the frame for good; the others are counted from there."""
        del self._hashes[:count]
        self._passed = None

    def first_shifted(self, frame: Sequence[str]) -> int | None:
        """The first row from which on the frame no longer is what the history holds; None if all is in order.

        Only as many rows are looked at as the shorter of both has.
        """
        length = min(len(self._hashes), len(frame))
        tail = list(frame[max(0, length - TAIL_ROWS) : length])
        if tail == self._passed:
            return None
        if self._aligned(tail, length):
            self._passed = tail
            return None
        return self._first_difference(frame, length)

    def _aligned(self, tail: list[str], length: int) -> bool:
        sampled = mismatches = 0
        hashes = self._hashes[length - len(tail) : length]
        for committed, row in zip(reversed(hashes), reversed(tail), strict=True):
            if committed == _BLANK:
                continue
            mismatches += committed != _hash(row)
            sampled += 1
            if mismatches > 1 or sampled == SAMPLE_ROWS:
                break
        return mismatches <= 1

    def _first_difference(self, frame: Sequence[str], length: int) -> int:
        for start in range(0, length, _BLOCK_ROWS):
            for index, row in enumerate(frame[start : min(start + _BLOCK_ROWS, length)], start):
                if _hash(row) != self._hashes[index]:
                    return index
        return length


def _hash(row: str) -> int:
    return hash(visible(row)) & _MASK


_BLANK = _hash("")
