"""Text changes as a list of replaced spans; everything else is preserved byte for byte."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tau.coding.edits.diff import CONTEXT_LINES, MAX_DIFF_LINES, Diff, equal_start, hunks, shown

_NO_NEWLINE = "\n\\ No newline at end of file"


class Splice(Struct, frozen=True, gc=False):
    """Replaces the characters from `start` up to `end` with `text`."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Apply splices, which are sorted and do not overlap."""
    pieces: list[str] = []
    done = 0
    for splice in splices:
        pieces += (text[done : splice.start], splice.text)
        done = splice.end
    return "".join([*pieces, text[done:]])


def composed(first: Sequence[Splice], second: Sequence[Splice], length: int) -> list[Splice]:
    """Merge two successive sets: `second` refers to the result of `first` on a text of `length` characters.

    Overlaps become one splice, so the result refers to the original text.
    """
    pieces: list[str | range] = []
    done = 0
    for splice in first:
        pieces += (range(done, splice.start), splice.text)
        done = splice.end
    pieces.append(range(done, length))
    result: list[str | range] = []
    done = 0
    for splice in second:
        result += (*_cut(pieces, done, splice.start), splice.text)
        done = splice.end
    result += _cut(pieces, done, None)
    return list(_as_splices(result, length))


def _cut(pieces: list[str | range], start: int, end: int | None) -> Iterator[str | range]:
    position = 0
    for piece in pieces:
        left = max(start - position, 0)
        right = len(piece) if end is None else min(end - position, len(piece))
        position += len(piece)
        if left < right:
            yield piece[left:right]


def _as_splices(pieces: list[str | range], length: int) -> Iterator[Splice]:
    done, text = 0, ""
    for piece in [*pieces, range(length, length)]:
        if isinstance(piece, str):
            text += piece
            continue
        if piece.start > done or text:
            yield Splice(done, piece.start, text)
        done, text = piece.stop, ""


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
        end = old.find(separator, position)
        if end < 0:
            return len(old)
        position = end + 1
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
