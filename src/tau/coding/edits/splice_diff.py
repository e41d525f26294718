"""Build a diff directly from splices, so its cost does not grow with the file."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tau.coding.edits.diff import CONTEXT_LINES, MAX_DIFF_LINES, Diff, equal_start, hunks, shown
from tau.coding.edits.splices import Splice, spliced

_NO_NEWLINE = "\n\\ No newline at end of file"


class _Region(Struct, gc=False):
    """Whole lines of the old text, from `start` up to `end`, and the splices within them."""

    start: int
    end: int
    splices: list[Splice]


def diff_of(old: str, splices: Sequence[Splice], old_name: str, new_name: str) -> Diff:
    """Like `unified(old, new, ...)`, with file names used verbatim."""
    separator = "\r" if "\n" not in old and "\r" in old else "\n"
    rows: list[str] = []
    first: int | None = None
    added = removed = line = grown = done = 0
    for region in _regions(old, splices, separator):
        top = _back(old, region.start, separator)
        bottom = _forward(old, region.end, separator)
        line += old.count(separator, done, top)
        done = top
        moved = [Splice(one.start - top, one.end - top, one.text) for one in region.splices]
        at_end = bottom == len(old)
        before = _lines(old[top:bottom], separator, at_end=at_end)
        after = _lines(spliced(old[top:bottom], moved), separator, at_end=at_end)
        if first is None and before != after:
            first = line + grown + equal_start(before, after) + 1
        if len(rows) > MAX_DIFF_LINES:
            # These are not shown: counting them is enough.
            touched = _count(old[region.start : region.end], separator)
            removed += touched
            added += touched + len(after) - len(before)
        else:
            new_rows = list(hunks(before, after, line, line + grown))
            added += sum(row.startswith("+") for row in new_rows)
            removed += sum(row.startswith("-") for row in new_rows)
            rows += new_rows
        grown += len(after) - len(before)
    return Diff(shown(rows, old_name, new_name) if rows else "", first, added, removed)


def _regions(old: str, splices: Sequence[Splice], separator: str) -> Iterator[_Region]:
    """Group splices into regions; those that would share context lines are merged."""
    current: _Region | None = None
    for splice in splices:
        start = old.rfind(separator, 0, splice.start) + 1
        end = _line_end(old, splice, start, separator)
        if current is not None and old.count(separator, current.end, start) <= 2 * CONTEXT_LINES:
            current.end = max(current.end, end)
            current.splices.append(splice)
            continue
        if current is not None:
            yield current
        current = _Region(start, end, [splice])
    if current is not None:
        yield current


def _line_end(old: str, splice: Splice, start: int, separator: str) -> int:
    """Return the end of the last changed line, excluding what follows if the new text ends a line too."""
    at_line_start = splice.end == 0 or old[splice.end - 1] == separator
    if at_line_start and (splice.text.endswith(separator) or (not splice.text and splice.start == start)):
        return splice.end
    found = old.find(separator, splice.end)
    return len(old) if found < 0 else found + 1


def _back(old: str, position: int, separator: str) -> int:
    for _ in range(CONTEXT_LINES):
        if position == 0:
            break
        position = old.rfind(separator, 0, position - 1) + 1
    return position


def _forward(old: str, position: int, separator: str) -> int:
    for _ in range(CONTEXT_LINES):
        found = old.find(separator, position)
        if found < 0:
            return len(old)
        position = found + 1
    return position


def _lines(text: str, separator: str, *, at_end: bool) -> list[str]:
    lines = text.split(separator)
    if not lines[-1]:
        return lines[:-1]
    if at_end:
        lines[-1] += _NO_NEWLINE
    return lines


def _count(text: str, separator: str) -> int:
    return text.count(separator) + (not text.endswith(separator) and bool(text))
