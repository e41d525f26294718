"""Carries changes made for an older text over to the current one, where that can be done for certain.

A change is moved with the lines it names. Those lines, and for somebody else's edits the lines beside them
too, must still be there, together, at a place that cannot be mistaken for another.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from tau.hashline.align import NOWHERE, certain_pairs
from tau.hashline.hunks import Hunk, LineChange
from tau.hashline.lines import NumberedLines, split_lines
from tau.hashline.snapshots import Snapshot, SnapshotStore
from tau.hashline.tags import trimmed

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

_MAX_CHAIN = 64


class CarriedChanges(Struct, frozen=True):
    """Changes with the line numbers of the current text, and what to tell about it."""

    changes: tuple[LineChange, ...]
    warning: str = ""


def same_lines(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but white space at the ends of lines."""
    if one == other:
        return True
    # A last line of nothing but white space is a line, though trimming leaves nothing of it.
    same_ends = bool(one) == bool(other) and one.endswith(("\n", "\r")) == other.endswith(("\n", "\r"))
    return same_ends and trimmed(one) == trimmed(other)


def carry(
    changes: Sequence[LineChange], snapshot: Snapshot, current: str, store: SnapshotStore, path: str
) -> CarriedChanges | None:
    """The changes for the current text; None if one of them has no certain place there."""
    assert snapshot.text is not None
    tag = snapshot.tag
    now = store.with_text(snapshot.path, current)
    if now is not None and (steps := _chain(snapshot, now, store)):
        moved = _along(changes, steps)
        if moved is not None:
            return CarriedChanges(moved, SESSION_CHAIN_WARNING.format(path=path, tag=tag))
    merged = None
    last_own = _newest_own(snapshot, store) if now is None or not now.own else None
    if last_own is not None and last_own.text is not None:
        # Our own edits are known exactly; only what came after them has to be found by comparing.
        moved = _along(changes, _chain(snapshot, last_own, store))
        merged = None if moved is None else _merge(moved, last_own.text, current)
    if merged is None:
        merged = _merge(changes, snapshot.text, current)
    if merged is None:
        return None
    banner = SESSION_REPLAY_WARNING if now is not None and now.own else EXTERNAL_WARNING
    return CarriedChanges(merged, banner.format(path=path, tag=tag))


def check_seen(hunks: Iterable[Hunk], snapshot: Snapshot, lines: NumberedLines) -> str:
    """For a version of which single lines were shown: why the hunks cannot be trusted, "" if they can.

    Of a block its first line must have been seen, of a range every line.
    """
    for hunk in hunks:
        last = hunk.last if hunk.kind in ("replace", "delete") else hunk.first
        for number in range(max(hunk.first, 1), last + 1):
            seen = snapshot.lines.get(number)
            if seen is None:
                return f"Line {number} was not among the lines shown under #{snapshot.tag}."
            if not lines.has(number) or lines.row(number).rstrip(" \t\r") != seen.rstrip(" \t\r\n"):
                return f"Line {number} is not what was shown under #{snapshot.tag}."
    return ""


def _chain(old: Snapshot, new: Snapshot, store: SnapshotStore) -> list[tuple[LineChange, ...]]:
    """The edits of this session that led from one version to another, oldest first; empty if not known."""
    steps: list[tuple[LineChange, ...]] = []
    version: Snapshot | None = new
    while version is not None and version.tag != old.tag and len(steps) < _MAX_CHAIN:
        if version.origin is None:
            return []
        steps.append(version.origin.changes)
        version = store.find(version.path, version.origin.tag)
    return steps[::-1] if version is not None and version.tag == old.tag else []


def _newest_own(snapshot: Snapshot, store: SnapshotStore) -> Snapshot | None:
    """The last text that this session made out of a version by editing it."""
    candidates = [version for version in store.versions(snapshot.path) if _chain(snapshot, version, store)]
    return candidates[-1] if candidates else None


def _along(
    changes: Sequence[LineChange], steps: Sequence[tuple[LineChange, ...]]
) -> tuple[LineChange, ...] | None:
    moved: tuple[LineChange, ...] | None = tuple(changes)
    for step in steps:
        places = _Places(step)
        moved = _moved(moved or (), places.place, reach=0)
        if moved is None:
            return None
    return moved


class _Places:
    """Where a line went in an edit whose changes are known and in order."""

    def __init__(self, changes: Sequence[LineChange]) -> None:
        self._firsts = [change.first for change in changes]
        self._shifts = list(accumulate((change.growth for change in changes), initial=0))
        self._lasts = list(accumulate((change.last for change in changes), max, initial=0))

    def place(self, number: int) -> int | None:
        before = bisect_right(self._firsts, number)
        return None if number <= self._lasts[before] and before else number + self._shifts[before]


def _merge(changes: Sequence[LineChange], old: str, new: str) -> tuple[LineChange, ...] | None:
    """Three-way merge: the lines of each change and those beside it must be found again, side by side."""
    old_lines, new_lines = _trimmed_lines(old), _trimmed_lines(new)
    pairs = certain_pairs(old_lines, new_lines)
    if pairs is None:
        return None
    count = len(old_lines)

    def place(number: int) -> int | None:
        # The start and the end of the file count as lines that are always there.
        if number == 0:
            return 0
        if number == count + 1:
            return len(new_lines) + 1
        index = pairs[number - 1]
        return None if index == NOWHERE else index + 1

    return _moved(changes, place, reach=1)


def _trimmed_lines(text: str) -> list[str]:
    return [line.rstrip(" \t\r") for line in split_lines(text)]


def _moved(
    changes: Sequence[LineChange], place: Callable[[int], int | None], *, reach: int
) -> tuple[LineChange, ...] | None:
    result = []
    for change in changes:
        # An insertion stands between two lines, which must not have moved apart.
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
