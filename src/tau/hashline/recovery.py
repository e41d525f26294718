"""Moves changes made for an older text to the current one, if their place there is unambiguous.

A change moves with its lines. Those lines, and after someone else's edits their neighbors too, must still
exist, adjacent, in exactly one place.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from tau.hashline.lines import NumberedLines, split_lines
from tau.hashline.records import LineChange, LineShift
from tau.hashline.snapshots import Snapshot, SnapshotStore, trim_lines

EXTERNAL_WARNING = (
    "{path} was changed outside this session after #{tag} was shown. The edit did not touch those changes "
    "and was merged with them; read the file again before you rely on line numbers."
)
SESSION_CHAIN_WARNING = (
    "#{tag} is from before your own earlier edit of {path}. Line numbers were carried along through that "
    "edit; use the newest tag next time."
)
SESSION_REPLAY_WARNING = (
    "#{tag} is from before {path} was rewritten in this session. The edit was replayed on what #{tag} showed "
    "and merged with the new text; use the newest tag next time."
)
_MAX_CHAIN = 1000
MAX_CELLS = 200_000_000
UNPAIRED = -1


def certain_pairs(old: Sequence[str], new: Sequence[str]) -> list[int] | None:
    """For each line of `old` the index of its counterpart in `new`, or UNPAIRED if it is not certain.

    Two texts usually have several best alignments. A pair is certain only if it belongs to all of them: a
    line with a duplicate added or deleted nearby is not. None if the texts are too long and too different.
    """
    top = _certain_top(old, new)
    old_rest, new_rest = old[top:], new[top:]
    bottom = _certain_top(old_rest[::-1], new_rest[::-1])
    middle_old = old_rest[: len(old_rest) - bottom]
    middle_new = new_rest[: len(new_rest) - bottom]
    if len(middle_old) * len(middle_new) > MAX_CELLS:
        return None
    middle = _certain_middle(middle_old, middle_new)
    return [
        *range(top),
        *(top + index if index >= 0 else UNPAIRED for index in middle),
        *range(len(new) - bottom, len(new)),
    ]


def _certain_top(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the lines at the top that are paired in every best alignment.

    Equal lines are not enough: of three equal lines, any one may have been deleted. But a line that does not
    occur below, in either text, has only one counterpart, and so have all lines above it.
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


def _certain_middle(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """The pairs common to the highest and the lowest path of all best alignments.

    All other best alignments run between these two, so they have those pairs as well.
    """
    if not old or not new:
        return [UNPAIRED] * len(old)
    table = _subsequence_lengths(old, new)
    high = _best_path(table, old, new, old_first=True)
    low = _best_path(table, old, new, old_first=False)
    return [one if one == other else UNPAIRED for one, other in zip(high, low, strict=True)]


def _subsequence_lengths(old: Sequence[str], new: Sequence[str]) -> list[int]:
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


def _best_path(table: list[int], old: Sequence[str], new: Sequence[str], *, old_first: bool) -> list[int]:
    """One best alignment, from the end, that skips a line of `old` (or of `new`) wherever possible."""
    pairs = [UNPAIRED] * len(old)
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


class CarriedChanges(Struct, frozen=True):
    """Changes with the line numbers of the current text, and a warning for the model."""

    changes: tuple[LineChange, ...]
    warning: str = ""


def same_lines(one: str, other: str) -> bool:
    """Whether two texts differ only in white space at the ends of lines."""
    if one == other:
        return True
    # A last line of only white space is a line, though trimming removes it.
    same_ends = bool(one) == bool(other) and one.endswith(("\n", "\r")) == other.endswith(("\n", "\r"))
    return same_ends and trim_lines(one) == trim_lines(other)


def carry(
    changes: Sequence[LineChange], snapshot: Snapshot, current: str, store: SnapshotStore, path: str
) -> CarriedChanges | None:
    """The changes for the current text; None if the place of one is ambiguous."""
    tag = snapshot.tag
    now = store.with_text(snapshot.path, current)
    if now is not None and (steps := _chain(snapshot, now.tag, store)):
        moved = _move_through(changes, steps)
        if moved is not None:
            return CarriedChanges(moved, SESSION_CHAIN_WARNING.format(path=path, tag=tag))
    merged = None
    last_own = _newest_own(snapshot, store) if now is None or not now.own else None
    if last_own is not None:
        # Our own edits are known exactly; only later changes have to be found by comparing.
        moved = _move_through(changes, _chain(snapshot, last_own.tag, store))
        merged = None if moved is None else _merge(moved, last_own.text, current)
    if merged is None:
        merged = _merge(changes, snapshot.text, current)
    if merged is None:
        return None
    warning = SESSION_REPLAY_WARNING if now is not None and now.own else EXTERNAL_WARNING
    return CarriedChanges(merged, warning.format(path=path, tag=tag))


def _chain(old: Snapshot, new_tag: str, store: SnapshotStore) -> list[tuple[LineShift, ...]]:
    """The edits of this session from one version to another, oldest first; empty if unknown."""
    steps: list[tuple[LineShift, ...]] = []
    tag = new_tag
    while tag != old.tag:
        origin = store.origin(old.path, tag)
        if origin is None or len(steps) == _MAX_CHAIN:
            return []
        steps.append(origin.shifts)
        tag = origin.tag
    return steps[::-1]


def _newest_own(snapshot: Snapshot, store: SnapshotStore) -> Snapshot | None:
    """The version that this session derived from a shown one by the most edits."""
    chains = [(len(_chain(snapshot, one.tag, store)), one) for one in store.versions(snapshot.path)]
    steps, newest = max(chains, key=lambda chain: chain[0])
    return newest if steps else None


def _move_through(
    changes: Sequence[LineChange], steps: Sequence[tuple[LineShift, ...]]
) -> tuple[LineChange, ...] | None:
    moved: tuple[LineChange, ...] | None = tuple(changes)
    for step in steps:
        moved = _move(moved or (), _LineMap(step).place, reach=0)
        if moved is None:
            return None
    return moved


class _LineMap:
    """Maps line numbers through an edit with known, sorted changes."""

    def __init__(self, changes: Sequence[LineShift]) -> None:
        self._firsts = [change.first for change in changes]
        self._shifts = list(accumulate((change.growth for change in changes), initial=0))
        self._lasts = list(accumulate((change.last for change in changes), max, initial=0))

    def place(self, number: int) -> int | None:
        before = bisect_right(self._firsts, number)
        return None if number <= self._lasts[before] and before else number + self._shifts[before]


def _merge(changes: Sequence[LineChange], old: str, new: str) -> tuple[LineChange, ...] | None:
    """Three-way merge: the lines of each change and their neighbors must still be adjacent."""
    pairs = pair_lines(old, new)
    if pairs is None:
        return None
    count, new_count = len(pairs), NumberedLines(new).count

    def place(number: int) -> int | None:
        # The start and the end of the file count as lines that always exist.
        if number == 0:
            return 0
        if number == count + 1:
            return new_count + 1
        index = pairs[number - 1]
        return None if index == UNPAIRED else index + 1

    return _move(changes, place, reach=1)


def pair_lines(old: str, new: str) -> list[int] | None:
    """`certain_pairs` of two texts, ignoring trailing white space."""
    return certain_pairs(_split_trimmed(old), _split_trimmed(new))


def _split_trimmed(text: str) -> list[str]:
    return [line.rstrip(" \t\r") for line in split_lines(text)]


def _move(
    changes: Sequence[LineChange], place: Callable[[int], int | None], *, reach: int
) -> tuple[LineChange, ...] | None:
    result = []
    for change in changes:
        # An insertion is between two lines, which must still be adjacent.
        first = change.first - 1 if change.inserts else change.first - reach
        last = change.first if change.inserts else change.last + reach
        start = place(first)
        if start is None:
            return None
        if any(place(number) != start + number - first for number in range(first + 1, last + 1)):
            return None
        shift = start - first
        anchor = change.anchor + shift if change.anchor else 0
        result.append(replace(change, first=change.first + shift, last=change.last + shift, anchor=anchor))
    return tuple(result)
