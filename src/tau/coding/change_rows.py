"""A diff made from the changes themselves, so that its cost does not depend on how far apart they are."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

from tau.coding.diff import CONTEXT_LINES, hunks


class TextEdit(Protocol):
    """Characters `start` to `end` of the old text become `text`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...


class DiffRows(Struct, frozen=True):
    """Hunk headers and rows of a unified diff, and how many lines they add and remove."""

    rows: list[str]
    added: int
    removed: int


class _Group(Struct):
    """Changes whose lines touch, and the lines, counted from 0, from the first to the last of them."""

    first: int
    last: int
    changes: list[TextEdit]


def change_rows(old: str, changes: Sequence[TextEdit]) -> DiffRows:
    """`changes` are in order and do not overlap."""
    lines = _lines(old)
    starts = list(accumulate((len(line) for line in lines), initial=0))
    rows: list[str] = []
    shift = 0  # how many lines the new text is ahead
    for group in _groups(starts, changes):
        first = max(group.first - CONTEXT_LINES, 0)
        last = min(group.last + CONTEXT_LINES, len(lines) - 1)
        before = lines[first : last + 1]
        after = _lines(_replaced(old, starts[first], starts[last + 1], group.changes))
        rows += hunks([_row(line) for line in before], [_row(line) for line in after], first, first + shift)
        shift += len(after) - len(before)
    added = sum(row.startswith("+") for row in rows)
    return DiffRows(rows, added, sum(row.startswith("-") for row in rows))


def _groups(starts: list[int], changes: Sequence[TextEdit]) -> Iterator[_Group]:
    group: _Group | None = None
    for change in changes:
        first = bisect_right(starts, change.start, hi=len(starts) - 1) - 1
        last = bisect_right(starts, max(change.end - 1, change.start), hi=len(starts) - 1) - 1
        if group is not None and first <= group.last + 2 * CONTEXT_LINES:
            group.last = max(group.last, last)
            group.changes.append(change)
            continue
        if group is not None:
            yield group
        group = _Group(first, last, [change])
    if group is not None:
        yield group


def _replaced(old: str, start: int, end: int, changes: Sequence[TextEdit]) -> str:
    pieces: list[str] = []
    at = start
    for change in changes:
        pieces += (old[at : change.start], change.text)
        at = change.end
    return "".join([*pieces, old[at:end]])


def _lines(text: str) -> list[str]:
    """With their ends."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _row(line: str) -> str:
    return line[:-1] if line.endswith("\n") else f"{line}\n\\ No newline at end of file"
