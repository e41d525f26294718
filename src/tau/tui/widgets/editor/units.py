"""What the cursor steps over: graphemes, tabs and paste markers, with their places and widths in a line."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from tau.tui.text.width import grapheme_width, graphemes, is_narrow
from tau.tui.widgets.editor.pastes import is_marker

TAB = -1
"""In place of a width: it depends on the column."""
MARKER = -2
"""In place of a width: it depends on the label."""
HIDDEN = -3
"""In place of a width: it has none of its own, and is shown as a sign, so that nothing hides in a text."""
_KEPT_SHAPES = 512


class Shape(NamedTuple):
    """The units of a line: where each begins (and, last, where the line ends), and its cells."""

    starts: list[int]
    cells: list[int]
    sums: list[int]
    """The cells in front of each unit, and of the whole line; empty if they depend on more than the line."""


_shapes: dict[str, Shape | None] = {}


def shape(line: str) -> Shape | None:
    """The units of a line; None for a line in which every character is one unit of one cell."""
    if line.isascii() and "\t" not in line:
        return None
    try:
        return _shapes[line]
    except KeyError:
        pass
    if len(_shapes) >= _KEPT_SHAPES:
        _shapes.clear()
    found = _shapes[line] = None if is_narrow(line) else _measured(line)
    return found


def _measured(line: str) -> Shape:
    units = list(graphemes(line)) if _is_ordinary(line) else list(_parted(line))
    known = {unit: _cells(unit) for unit in set(units)}
    cells = [known[unit] for unit in units]
    sums = list(accumulate(cells, initial=0)) if min(known.values()) > 0 else []
    return Shape(list(accumulate(map(len, units), initial=0)), cells, sums)


def _cells(unit: str) -> int:
    if unit == "\t":
        return TAB
    return MARKER if is_marker(unit) else grapheme_width(unit) or HIDDEN


def _is_ordinary(line: str) -> bool:
    """Whether it has neither tabs nor markers; markers are what cannot be encoded."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return "\t" not in line


def _parted(line: str) -> Iterator[str]:
    for piece in _pieces(line):
        if piece == "\t" or is_marker(piece[0]):
            yield piece
        else:
            yield from graphemes(piece)


def _pieces(line: str) -> Iterator[str]:
    """The line cut at tabs and markers, which are pieces of their own."""
    start = 0
    for at, char in enumerate(line):
        if char == "\t" or is_marker(char):
            if at > start:
                yield line[start:at]
            yield char
            start = at + 1
    if start < len(line):
        yield line[start:]


def after(line: str, column: int) -> int:
    """The column behind the unit that begins at (or contains) `column`."""
    units = shape(line)
    if units is None:
        return min(column + 1, len(line))
    at = bisect_right(units.starts, column)
    return units.starts[at] if at < len(units.starts) else len(line)


def before(line: str, column: int) -> int:
    """The column where the unit in front of `column` begins."""
    units = shape(line)
    if units is None:
        return max(column - 1, 0)
    return units.starts[max(bisect_left(units.starts, column) - 1, 0)]


def snapped(line: str, column: int) -> int:
    """The column, or the end of the unit it falls into."""
    column = min(max(column, 0), len(line))
    units = shape(line)
    return column if units is None else units.starts[bisect_left(units.starts, column)]
