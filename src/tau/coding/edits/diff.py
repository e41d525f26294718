"""Unified diffs for display, bounded in size and in computing time."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

from tau.base.late import late


class TextEdit(Protocol):
    """Replaces the characters `start` to `end` of the old text with `text`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...


class DiffRows(Struct, frozen=True):
    """Hunk headers and rows of a unified diff, with counts of added and removed lines."""

    rows: list[str]
    added: int
    removed: int


class _Group(Struct):
    """Changes on adjacent lines, and the zero-based range of lines they span."""

    first: int
    last: int
    changes: list[TextEdit]


def change_rows(old: str, changes: Sequence[TextEdit]) -> DiffRows:
    """Build diff rows from changes that are sorted and do not overlap."""
    lines = _lines(old)
    starts = list(accumulate((len(line) for line in lines), initial=0))
    rows: list[str] = []
    shift = 0  # line offset of the new text
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
    """Split into lines, keeping line endings."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _row(line: str) -> str:
    return line[:-1] if line.endswith("\n") else f"{line}\n\\ No newline at end of file"


difflib = late("difflib")

CONTEXT_LINES = 3
MAX_DIFF_LINES = 400
MAX_LINE_CHARS = 500
MAX_COMPARED_LINES = 2_000


class Diff(Struct, frozen=True):
    """`first_changed_line` refers to the new text and is None if nothing changed."""

    text: str
    first_changed_line: int | None
    added: int
    removed: int


def unified(old: str, new: str, path: str) -> Diff:
    """Diff `old` against `new`. Strips equal lines at both ends first, so small changes are cheap."""
    before, after = _rows(old), _rows(new)
    start = equal_start(before, after)
    end = equal_start(before[start:][::-1], after[start:][::-1])
    if start == len(before) == len(after):
        return Diff("", None, 0, 0)
    top = max(start - CONTEXT_LINES, 0)
    bottom = max(end - CONTEXT_LINES, 0)
    rows = list(hunks(before[top : len(before) - bottom], after[top : len(after) - bottom], top, top))
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    return Diff(shown(rows, f"a/{path}", f"b/{path}"), start + 1, added, removed)


def shown(rows: list[str], old_name: str, new_name: str) -> str:
    """Format the rows below the two file names, truncating long rows and long diffs."""
    kept = [row[:MAX_LINE_CHARS] for row in rows[:MAX_DIFF_LINES]]
    if len(rows) > len(kept):
        kept.append(f"[… {len(rows) - len(kept)} more diff lines not shown]")
    return "\n".join([f"--- {old_name}", f"+++ {new_name}", *kept]) + "\n"


def _rows(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
        return lines
    return lines[:-1]


def equal_start(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the equal lines at the start."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def hunks(before: list[str], after: list[str], old_offset: int, new_offset: int) -> Iterator[str]:
    """Yield the header and rows of each hunk; the offsets are the numbers of lines before the given ones."""
    if len(before) + len(after) > MAX_COMPARED_LINES:
        # A line-by-line comparison would take seconds, so treat everything in between as replaced.
        yield f"@@ -{_range(old_offset, len(before))} +{_range(new_offset, len(after))} @@"
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    matcher = difflib.SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        (_, a_start, _, b_start, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        old_range = _range(old_offset + a_start, a_end - a_start)
        new_range = _range(new_offset + b_start, b_end - b_start)
        yield f"@@ -{old_range} +{new_range} @@"
        for tag, a_first, a_last, b_first, b_last in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[a_first:a_last])
            else:
                yield from (f"-{line}" for line in before[a_first:a_last])
                yield from (f"+{line}" for line in after[b_first:b_last])


def _range(start: int, length: int) -> str:
    """Format a one-based range; an empty range names the line before it."""
    return f"{start + (length > 0)},{length}"
