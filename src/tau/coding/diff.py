"""A change as people read it: a unified diff, bounded in size and in the time it takes."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tau.base.late import late

difflib = late("difflib")

CONTEXT_LINES = 3
MAX_DIFF_LINES = 400
MAX_LINE_CHARS = 500
MAX_COMPARED_LINES = 2_000


class Diff(Struct, frozen=True):
    """`first_changed_line` counts in the new text; it is None when nothing changed."""

    text: str
    first_changed_line: int | None
    added: int
    removed: int


def unified(old: str, new: str, path: str) -> Diff:
    """What turns `old` into `new`. Equal lines at both ends are set aside first: a small change is cheap."""
    before, after = _lines(old), _lines(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    if start == len(before) == len(after):
        return Diff("", None, 0, 0)
    top = max(start - CONTEXT_LINES, 0)
    bottom = max(end - CONTEXT_LINES, 0)
    hunks = list(_hunks(before[top : len(before) - bottom], after[top : len(after) - bottom], top))
    added = sum(line.startswith("+") for line in hunks)
    removed = sum(line.startswith("-") for line in hunks)
    shown = [line[:MAX_LINE_CHARS] for line in hunks[:MAX_DIFF_LINES]]
    if len(hunks) > len(shown):
        shown.append(f"[… {len(hunks) - len(shown)} more lines of this diff not shown]")
    text = "\n".join([f"--- a/{path}", f"+++ b/{path}", *shown]) + "\n"
    return Diff(text, start + 1, added, removed)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
        return lines
    return lines[:-1]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _hunks(before: list[str], after: list[str], offset: int) -> Iterator[str]:
    if len(before) + len(after) > MAX_COMPARED_LINES:
        # Comparing line by line would take seconds: everything between the two equal ends counts as replaced.
        yield f"@@ -{_range(offset, len(before))} +{_range(offset, len(after))} @@"
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    matcher = difflib.SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        (_, a_start, _, b_start, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        old_range = _range(offset + a_start, a_end - a_start)
        new_range = _range(offset + b_start, b_end - b_start)
        yield f"@@ -{old_range} +{new_range} @@"
        for tag, a_first, a_last, b_first, b_last in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[a_first:a_last])
            else:
                yield from (f"-{line}" for line in before[a_first:a_last])
                yield from (f"+{line}" for line in after[b_first:b_last])


def _range(start: int, length: int) -> str:
    """Counted from 1; an empty range is named by the line before it."""
    return f"{start + (length > 0)},{length}"
