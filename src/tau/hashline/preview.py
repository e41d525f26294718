"""Renders changes: a compact preview for the model, a unified diff for people."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tau.hashline.apply import trim_change
from tau.hashline.format import format_row
from tau.hashline.lines import NumberedLines
from tau.hashline.mismatch import GAP, clip
from tau.hashline.records import LineChange

PREVIEW_CONTEXT = 1
PREVIEW_ROWS = 80
PREVIEW_ROWS_PER_SIDE = 12
DIFF_CONTEXT = 3
DIFF_ROWS = 400
DIFF_ROW_CHARS = 500
OPEN_END = "\\ No newline at end of file"


class PatchDiff(Struct, frozen=True):
    """`first_changed_line` refers to the new text; None if nothing changed."""

    text: str
    first_changed_line: int | None
    added: int
    removed: int


class _Group(Struct, frozen=True):
    """Changes that share context, the lines with that context, and the line shift before them."""

    changes: tuple[LineChange, ...]
    first: int
    last: int
    shift: int


def preview(lines: NumberedLines, changes: Sequence[LineChange]) -> str:
    """Render removed lines as `-OLD:text`, new ones as `+NEW:text`, context as ` NEW:text`, up to a limit."""
    rows: list[str] = []
    left = PREVIEW_ROWS
    for group in _groups(lines, _trim_changes(lines, changes), PREVIEW_CONTEXT):
        if rows:
            rows.append(GAP)
        shown = list(_preview_rows(lines, group))
        rows += shown[:left]
        if len(shown) > left:
            rows.append(f"{GAP} (more changes not shown)")
            break
        left -= len(shown)
    return "\n".join(rows)


def unified(lines: NumberedLines, changes: Sequence[LineChange], path: str) -> PatchDiff:
    """The unified diff of the changes, cut if it is too long."""
    trimmed = _trim_changes(lines, changes)
    if not trimmed:
        return PatchDiff("", None, 0, 0)
    first = trimmed[0].first
    if not trimmed[0].rows and not lines.has(trimmed[0].last + 1):
        first = max(first - 1, 1)  # the end of the file was deleted
    shown = _close_last_line(lines, trimmed)
    if not changes[-1].rows and not changes[-1].inserts and lines.is_open(changes[-1].last):
        shown = _open_new_last_line(lines, shown)
    added = sum(len(change.rows) for change in shown)
    removed = sum(change.last - change.first + 1 for change in shown)
    rows = [f"--- a/{path}", f"+++ b/{path}"]
    for group in _groups(lines, shown, DIFF_CONTEXT):
        if len(rows) > DIFF_ROWS:
            break
        rows += _unified_rows(lines, group, DIFF_ROWS - len(rows) + 1)
    if len(rows) > DIFF_ROWS:
        rows[DIFF_ROWS:] = ["[… the rest of this diff is not shown]"]
    return PatchDiff("\n".join(rows) + "\n", first, added, removed)


def _trim_changes(lines: NumberedLines, changes: Sequence[LineChange]) -> list[LineChange]:
    """The changes without unchanged rows at their ends; empty ones are dropped."""
    trimmed = [
        trim_change(lines, change) if change.rows and not change.inserts else change for change in changes
    ]
    return [change for change in trimmed if change.rows or not change.inserts]


def _close_last_line(lines: NumberedLines, changes: Sequence[LineChange]) -> list[LineChange]:
    """Rows after a last line without a line end change that line too: it gets one."""
    result: list[LineChange] = []
    for change in changes:
        previous = result[-1] if result else None
        if not (change.inserts and change.first > 1 and lines.is_open(change.first - 1)):
            result.append(change)
        elif previous is not None and previous.last == change.last and not previous.inserts:
            result[-1] = replace(previous, rows=(*previous.rows, *change.rows))
        else:
            line = change.first - 1
            result.append(replace(change, first=line, last=line, rows=(lines.row(line), *change.rows)))
    return result


def _open_new_last_line(lines: NumberedLines, changes: list[LineChange]) -> list[LineChange]:
    """Deleting a last line without a line end changes the line before it too: it loses its own."""
    *before, last = changes
    if before and before[-1].last == last.first - 1:
        joined = replace(last, first=before[-1].first, rows=before[-1].rows)
        rest = [*before[:-1], joined]
        return rest if joined.rows else _open_new_last_line(lines, rest)
    line = last.first - 1
    if not line or not lines.row(line):  # an empty line needs its line end
        return changes
    return [*before, replace(last, first=line, rows=(lines.row(line),))]


def _groups(lines: NumberedLines, changes: Sequence[LineChange], context: int) -> Iterator[_Group]:
    shift = 0
    index = 0
    while index < len(changes):
        end = index + 1
        while end < len(changes) and changes[end].first - changes[end - 1].last - 1 <= 2 * context:
            end += 1
        group = tuple(changes[index:end])
        first = max(group[0].first - context, 1)
        last = group[-1].last
        while last < group[-1].last + context and lines.has(last + 1):
            last += 1
        yield _Group(group, first, last, shift)
        shift += sum(change.growth for change in group)
        index = end


def _preview_rows(lines: NumberedLines, group: _Group) -> Iterator[str]:
    shift, position = group.shift, group.first
    for change in group.changes:
        for number in range(position, change.first):
            yield format_row(number + shift, clip(lines.row(number)), " ")
        going = change.last - change.first + 1
        last_shown = min(change.last, change.first + PREVIEW_ROWS_PER_SIDE - 1)
        for number, row in enumerate(lines.rows(change.first, last_shown), change.first):
            yield format_row(number, clip(row), "-")
        if going > PREVIEW_ROWS_PER_SIDE:
            yield f"-{GAP} ({going - PREVIEW_ROWS_PER_SIDE} more lines)"
        for number, row in enumerate(change.rows[:PREVIEW_ROWS_PER_SIDE], change.first + shift):
            yield format_row(number, clip(row), "+")
        if len(change.rows) > PREVIEW_ROWS_PER_SIDE:
            yield f"+{GAP} ({len(change.rows) - PREVIEW_ROWS_PER_SIDE} more lines)"
        shift += change.growth
        position = max(change.last + 1, position)
    for number in range(position, group.last + 1):
        yield format_row(number + shift, clip(lines.row(number)), " ")


def _unified_rows(lines: NumberedLines, group: _Group, limit: int) -> list[str]:
    old_count = group.last - group.first + 1
    new_count = old_count + sum(change.growth for change in group.changes)
    rows = [f"@@ -{_range(group.first, old_count)} +{_range(group.first + group.shift, new_count)} @@"]
    position = group.first
    for change in group.changes:
        rows += _old_rows(lines, " ", position, change.first - 1)
        rows += _old_rows(lines, "-", change.first, min(change.last, change.first + limit))
        new = [f"+{clip(row, DIFF_ROW_CHARS)}" for row in change.rows[:limit]]
        # At the end of a text without a final line end, the last row has none either.
        if new and change.rows[-1] and lines.ends_open and not lines.has(change.last + 1):
            new.append(OPEN_END)
        rows += new
        position = change.last + 1
        if len(rows) > limit:
            return rows[: limit + 1]
    return rows + _old_rows(lines, " ", position, group.last)


def _old_rows(lines: NumberedLines, mark: str, first: int, last: int) -> list[str]:
    if last < first:
        return []
    rows = [mark + clip(row, DIFF_ROW_CHARS) for row in lines.rows(first, last)]
    return [*rows, OPEN_END] if lines.is_open(last) else rows


def _range(first: int, length: int) -> str:
    """Format a one-based range; an empty range names the line before it."""
    return f"{first if length else first - 1},{length}"
