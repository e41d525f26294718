"""Finds where the frame and the terminal's history differ, so that no committed row is lost or skipped.

A component must not change rows that are in the history. If one does, an in-place edit is ignored (the
history keeps the old text), but an insertion or deletion shifts everything after it: the rows from there on
are then written again, since a duplicate is better than a loss. Each committed row is stored as a hash of its
text.
"""

from array import array
from collections.abc import Iterable, Sequence

from tau.tui.text.sgr import strip_escapes

TAIL_ROWS = 24
SAMPLE_ROWS = 8
_MASK = (1 << 64) - 1
_BLOCK_ROWS = 512


def visible_text(row: str) -> str:
    """Return a row's text without escape sequences and trailing blanks."""
    return strip_escapes(row).rstrip()


class Audit:
    """Remembers committed rows. Owned by the painter."""

    __slots__ = ("_hashes", "_passed")

    def __init__(self) -> None:
        self._hashes = array("Q")
        # The tail verified last: the same rows need no second check.
        self._passed: list[str] | None = None

    def __len__(self) -> int:
        return len(self._hashes)

    def commit(self, rows: Sequence[str]) -> None:
        """Record rows that entered the history."""
        if rows:
            self._hashes.extend([_hash(row) for row in rows])
            self._passed = None

    def truncate(self, length: int) -> None:
        """Keep only the first `length` rows as committed."""
        if length < len(self._hashes):
            del self._hashes[length:]
            self._passed = None

    def forget(self, count: int) -> None:
        """Drop the first `count` rows, which left the frame for good."""
        del self._hashes[:count]
        self._passed = None

    def first_shifted(self, frame: Sequence[str]) -> int | None:
        """Return the first row where the frame no longer matches the history; None if all rows match.

        Compares only as many rows as both have.
        """
        length = min(len(self._hashes), len(frame))
        tail = list(frame[max(0, length - TAIL_ROWS) : length])
        if tail == self._passed:
            return None
        if self._align(tail, length):
            self._passed = tail
            return None
        return self._first_difference(frame, length)

    def _align(self, tail: list[str], length: int) -> bool:
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
    return hash(visible_text(row)) & _MASK


_BLANK = _hash("")


def wrapped_heights(widths: Iterable[int], columns: int) -> list[int]:
    """Return the height of each row, given its width, after a narrower terminal wraps it."""
    return [max(1, -(-width // max(columns, 1))) for width in widths]
