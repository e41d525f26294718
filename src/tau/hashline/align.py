"""Which lines of one text are, beyond doubt, which lines of another.

Two texts can usually be aligned in several ways that are equally good. A pair of lines is certain only if it
belongs to every one of the best alignments: a line whose twin was added or deleted nearby is not.
"""

from collections.abc import Sequence

MAX_CELLS = 200_000_000
NOWHERE = -1


def certain_pairs(old: Sequence[str], new: Sequence[str]) -> list[int] | None:
    """For each line of `old` the index of its counterpart in `new`, NOWHERE where that is not certain.

    None if the texts are too long and too different to compare.
    """
    top = _common_top(old, new)
    old_rest, new_rest = old[top:], new[top:]
    bottom = _common_top(old_rest[::-1], new_rest[::-1])
    middle_old = old_rest[: len(old_rest) - bottom]
    middle_new = new_rest[: len(new_rest) - bottom]
    if len(middle_old) * len(middle_new) > MAX_CELLS:
        return None
    result = list(range(top))
    result += [top + index if index >= 0 else NOWHERE for index in _certain(middle_old, middle_new)]
    result += range(len(new) - bottom, len(new))
    return result


def _common_top(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines at the top are paired in every best alignment.

    Equal lines at the top may still be others: of three equal lines, any one may be the one deleted. But a
    line that does not occur again below, in either text, can only be itself, and so can all above it.
    """
    equal = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        equal += 1
    if equal == len(old) == len(new):
        return equal
    below = {*old[equal:], *new[equal:]}
    for index in range(equal - 1, -1, -1):
        if old[index] not in below:
            return index + 1
    return 0


def _certain(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """The pairs that the highest and the lowest path of all best alignments have in common.

    All other best alignments run between these two, so they share those pairs as well.
    """
    if not old or not new:
        return [NOWHERE] * len(old)
    table = _lengths(old, new)
    high = _path(table, old, new, old_first=True)
    low = _path(table, old, new, old_first=False)
    return [one if one == other else NOWHERE for one, other in zip(high, low, strict=True)]


def _lengths(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Lengths of the longest common subsequences of all prefixes, one big integer per line of `old`.

    The length for `old[:i]` and `new[:j]` is the number of zeros in the lowest j bits of entry i.
    """
    full = (1 << len(new)) - 1
    places: dict[str, int] = {}
    for index, line in enumerate(new):
        places[line] = places.get(line, 0) | 1 << index
    row = full
    table = [row]
    for line in old:
        matches = row & places.get(line, 0)
        row = ((row + matches) | (row - matches)) & full
        table.append(row)
    return table


def _path(table: list[int], old: Sequence[str], new: Sequence[str], *, old_first: bool) -> list[int]:
    """One best alignment, walked from the end, that skips a line of `old` (or of `new`) wherever it can."""
    pairs = [NOWHERE] * len(old)
    i, j = len(old), len(new)
    while i and j:
        skips_new = bool(table[i] >> (j - 1) & 1)
        equal = old[i - 1] == new[j - 1]
        if old_first:
            mask = (1 << j) - 1
            skips_old = (table[i] & mask).bit_count() == (table[i - 1] & mask).bit_count()
            move = "old" if skips_old else "pair" if equal else "new"
        else:
            move = "new" if skips_new else "pair" if equal else "old"
        if move == "pair":
            i, j = i - 1, j - 1
            pairs[i] = j
        elif move == "old":
            i -= 1
        else:
            j -= 1
    return pairs
