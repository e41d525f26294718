"""What two versions of a long line have in common: a key in it must not cost as much as the whole line."""

from typing import NamedTuple

LONG_CHARS = 2_000
"""From here on it pays to look for what has stayed."""


class UniformLine(NamedTuple):
    """So many characters are the same at the start and at the end; the new line is longer by `delta`."""

    prefix: int
    suffix: int
    delta: int


def alike(old: str, new: str) -> UniformLine | None:
    """What both have; None where that is too little to be of use."""
    most = min(len(old), len(new))
    prefix = _same(old, new, most)
    rest = most - prefix
    suffix = _same(old[::-1], new[::-1], rest) if rest else 0
    if prefix + suffix < most // 2:
        return None
    return UniformLine(prefix, suffix, len(new) - len(old))


def _same(one: str, other: str, most: int) -> int:
    """How many characters at the start are the same, `most` at most."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
