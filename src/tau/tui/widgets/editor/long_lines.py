"""Compares versions of a long line, so that a keystroke does not cost as much as the whole line."""

from typing import NamedTuple

LONG_CHARS = 2_000
"""Minimum length for which the comparison pays off."""


class LineOverlap(NamedTuple):
    """Common prefix and suffix lengths of two lines; the new line is longer by `delta`."""

    prefix: int
    suffix: int
    delta: int


def compare_lines(old: str, new: str) -> LineOverlap | None:
    """Compare two lines; None if they have too little in common."""
    most = min(len(old), len(new))
    prefix = _same(old, new, most)
    rest = most - prefix
    suffix = _same(old[::-1], new[::-1], rest) if rest else 0
    if prefix + suffix < most // 2:
        return None
    return LineOverlap(prefix, suffix, len(new) - len(old))


def _same(one: str, other: str, most: int) -> int:
    """Return the common prefix length, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
