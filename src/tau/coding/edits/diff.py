"""Unified diffs for display, bounded in size and in computing time."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tau.base.late import late

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
