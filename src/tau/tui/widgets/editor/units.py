"""Cursor units: graphemes, tabs and paste markers, with their columns and widths in a line."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from tau.tui.text.width import common_prefix_length, grapheme_width, graphemes, is_narrow, is_simple
from tau.tui.widgets.editor.pastes import is_marker

LONG_CHARS = 2_000
"""Minimum length for which the comparison pays off."""
TAB = -1
"""Instead of a width: depends on the column."""
MARKER = -2
"""Instead of a width: depends on the label."""
HIDDEN = -3
"""Instead of a width: an invisible character, shown as a symbol so that nothing is hidden."""
_KEPT_LINES = 512
_KEPT_CHARS = 200_000
"""Limit on cached lines; the last one is always kept."""


class LineOverlap(NamedTuple):
    """Common prefix and suffix lengths of two lines; the new line is longer by `delta`."""

    prefix: int
    suffix: int
    delta: int


def compare_lines(old: str, new: str) -> LineOverlap | None:
    """Compare versions of a long line, so that a keystroke need not measure all of it.

    None if they have too little in common.
    """
    most = min(len(old), len(new))
    prefix = common_prefix_length(old, new, most)
    rest = most - prefix
    suffix = common_prefix_length(old[::-1], new[::-1], rest) if rest else 0
    if prefix + suffix < most // 2:
        return None
    return LineOverlap(prefix, suffix, len(new) - len(old))


class LineUnits(NamedTuple):
    """The units of a line: where each begins (plus the line's end), and its cells."""

    starts: list[int]
    cells: list[int]
    sums: list[int]
    """Cumulative cells before each unit and of the whole line; empty if they depend on context."""


class LineUnitsCache:
    """Cached units of lines: each is measured once, a changed long one only in part."""

    __slots__ = ("_chars", "_known", "_last_long")

    def __init__(self) -> None:
        self._known: dict[str, LineUnits | None] = {}
        self._chars = 0
        self._last_long: tuple[str, LineUnits] | None = None

    def of(self, line: str) -> LineUnits | None:
        try:
            return self._known[line]
        except KeyError:
            pass
        self._chars += len(line)
        if len(self._known) >= _KEPT_LINES or self._chars > _KEPT_CHARS:
            self._known.clear()
            self._chars = len(line)
        units = self._known[line] = None if is_narrow(line) else self._measure(line)
        return units

    def _measure(self, line: str) -> LineUnits:
        if len(line) < LONG_CHARS:
            return measure_line(line)
        last = self._last_long
        units = (last and patch_units(*last, line)) or measure_line(line)
        self._last_long = (line, units)
        return units


_cache = LineUnitsCache()


def measure_if_needed(line: str) -> LineUnits | None:
    """Measure a line; None if every character is one unit of one cell."""
    if line.isascii() and "\t" not in line:
        return None
    return _cache.of(line)


def patch_units(old_line: str, old: LineUnits, line: str) -> LineUnits | None:
    """Derive the units of a line from those of a similar one; None if they differ too much."""
    same = compare_lines(old_line, line)
    if same is None:
        return None
    starts = old.starts
    first = bisect_right(starts, max(same.prefix - 1, 0)) - 1
    while first > 0 and not _is_hard(old_line, starts[first]):
        first -= 1
    last = bisect_left(starts, min(len(old_line) - same.suffix + 1, len(old_line)))
    while last < len(starts) - 1 and not _is_hard(old_line, starts[last]):
        last += 1
    base, delta = starts[first], same.delta
    between = measure_line(line[base : starts[last] + delta])
    moved = [start + delta for start in starts[last:]] if delta else starts[last:]
    sums: list[int] = []
    if old.sums and between.sums:
        previous_column = old.sums[first]
        wider = previous_column + between.sums[-1] - old.sums[last]
        sums = old.sums[:first] + [previous_column + cells for cells in between.sums[:-1]]
        sums += [cells + wider for cells in old.sums[last:]]
    return LineUnits(
        starts[:first] + [base + start for start in between.starts[:-1]] + moved,
        old.cells[:first] + between.cells + old.cells[last:],
        sums,
    )


def _is_hard(line: str, at: int) -> bool:
    """Whether this is always a unit boundary, whatever the context."""
    return is_simple(line[at - 1 : at + 1].replace("\t", " "))


def measure_line(line: str) -> LineUnits:
    if not line:
        return LineUnits([0], [], [0])
    units = list(graphemes(line)) if _is_ordinary(line) else list(_split_units(line))
    known = {unit: _cells(unit) for unit in set(units)}
    cells = [known[unit] for unit in units]
    sums = list(accumulate(cells, initial=0)) if min(known.values()) > 0 else []
    return LineUnits(list(accumulate(map(len, units), initial=0)), cells, sums)


def _cells(unit: str) -> int:
    if unit == "\t":
        return TAB
    return MARKER if is_marker(unit) else grapheme_width(unit) or HIDDEN


def _is_ordinary(line: str) -> bool:
    """Whether it has no tabs or markers; markers cannot be encoded."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return "\t" not in line


def _split_units(line: str) -> Iterator[str]:
    for piece in _pieces(line):
        if piece == "\t" or is_marker(piece[0]):
            yield piece
        else:
            yield from graphemes(piece)


def _pieces(line: str) -> Iterator[str]:
    """Split the line at tabs and markers, which are separate pieces."""
    start = 0
    for at, char in enumerate(line):
        if char == "\t" or is_marker(char):
            if at > start:
                yield line[start:at]
            yield char
            start = at + 1
    if start < len(line):
        yield line[start:]


def next_column(line: str, column: int) -> int:
    """Return the column after the unit at `column`."""
    units = measure_if_needed(line)
    if units is None:
        return min(column + 1, len(line))
    at = bisect_right(units.starts, column)
    return units.starts[at] if at < len(units.starts) else len(line)


def previous_column(line: str, column: int) -> int:
    """Return the start of the unit before `column`."""
    units = measure_if_needed(line)
    if units is None:
        return max(column - 1, 0)
    return units.starts[max(bisect_left(units.starts, column) - 1, 0)]


def snap_column(line: str, column: int) -> int:
    """Return the column, or the end of the unit it is inside of."""
    column = min(max(column, 0), len(line))
    units = measure_if_needed(line)
    return column if units is None else units.starts[bisect_left(units.starts, column)]
