"""Emits the bytes of a frame: relative moves and rows. Nothing here clears the screen or the history.

Window rows are counted from its top. While the shell's lines are still above the window (nothing has filled
the screen yet), the window's position on the terminal is unknown; so all moves are relative, and new rows at
the end are reached with line feeds, which scroll the shell's lines away if the screen is full.
"""

import re
from collections.abc import Sequence
from functools import cache

from tau.tui.images.marks import image_rows
from tau.tui.render.row_sanitizer import BLANK, SafeRow
from tau.tui.terminal import sequences
from tau.tui.text.sgr import Styles, escape_pattern
from tau.tui.text.width import NARROW, WIDE, common_prefix_length, is_simple, visible_width

_MIN_KEPT = 4
_LONGEST_ROW = 4096
SAFE_CELLS = 40
"""A final row no wider than this stays as it was drawn. A wider one is written once more, and wraps, when it
becomes final: the terminal may have become narrower without our knowing, and then it cut the row."""
UNWRAPPED_CELLS = 59
"""Rows that must not wrap are cut here: few terminals are narrower."""
ERASE_RIGHT = "\x1b[K"
ERASE_BELOW = "\x1b[J"
_MIN_MOVED_CHARS = 24


@cache
def _simple() -> re.Pattern[str]:
    """Characters that never join with a neighbor from this set."""
    return re.compile(f"[\x1b{NARROW}{WIDE}]")


def patch(old: SafeRow, new: SafeRow) -> str:
    """Return what turns `old` into `new`, with the cursor anywhere in that row.

    Both rows close their styles, so the pen is plain before and after. Erase last and only if the old row was
    wider: after the last column it would erase a character on some terminals.
    """
    erase = "\x1b[K" if new.width < old.width else ""
    whole = f"\r{new.text}{erase}"
    if old.image or new.image:
        return whole if old.width == 0 or erase else f"\r\x1b[K{new.text}"
    if not old.width or len(new.text) > _LONGEST_ROW:
        return whole
    kept = _reusable_chars(old.text, new.text)
    if kept < _MIN_KEPT:
        return whole
    head = new.text[:kept]
    if "\x1b" in head:
        styles = Styles()
        for sequence in escape_pattern().findall(head):
            styles.feed(sequence)
        opening = styles.opening()
    else:
        opening = ""
    rest = new.text[kept:]
    if not escape_pattern().sub("", rest):
        # Only closing sequences are left, which show nothing.
        rest = opening = ""
    part = f"\x1b[{visible_width(head) + 1}G{opening}{rest}{erase}"
    return part if len(part) < len(whole) else whole


def _reusable_chars(old: str, new: str) -> int:
    """Return how many characters of `new` may stay, without splitting a sequence or a cluster."""
    length = common_prefix_length(old, new, min(len(old), len(new)))
    while length:
        escape = new.rfind("\x1b", 0, length)
        if escape >= 0:
            start, end = _sequence_around(new, escape)
            if start < length < end:
                length = start
                continue
        before = length and _simple().match(new, length - 1)
        if before and _is_start(old, length) and _is_start(new, length):
            return length
        length -= 1
    return 0


def _is_start(text: str, at: int) -> bool:
    return at >= len(text) or _simple().match(text, at) is not None


def _sequence_around(text: str, escape: int) -> tuple[int, int]:
    """Return the sequence that this escape character begins, or ends as the first half of ST."""
    if text.startswith("\\", escape + 1):
        start = text.rfind("\x1b]", 0, escape)
        return (start, escape + 2) if start >= 0 else (escape, escape + 2)
    match = escape_pattern().match(text, escape)
    return (escape, match.end()) if match else (escape, len(text))


class Pen:
    """Collects the output of one frame and tracks the cursor's window row."""

    __slots__ = ("columns", "height", "parts", "reach", "row")

    def __init__(self, row: int, reach: int, columns: int, height: int) -> None:
        self.parts: list[str] = []
        self.row = row
        self.reach = reach
        """How many window rows are known to exist on the terminal."""
        self.columns = columns
        self.height = height

    def to(self, row: int) -> None:
        """Move to a row, in any column."""
        step = row - self.row
        if step < 0:
            self.parts.append(f"\x1b[{-step}A")
        elif step:
            # A line feed always moves one row away from those above, even if the terminal has become lower
            # without our knowing; CUD would stop at its last row, and moving back up would go too far.
            self.parts.append("\n" * step)
        self.row = row
        self.reach = min(max(self.reach, row + 1), self.height)

    def write(self, text: str) -> None:
        self.parts.append(text)


def scroll(pen: Pen, grid: list[SafeRow], count: int) -> list[SafeRow]:
    """Push the first window rows into the history; returns the rest of the grid.

    The line feeds start at the last drawn row, so they scroll nothing of ours on the way down.
    """
    pen.to(max(len(grid) - 1, 0))
    pen.write("\n" * (pen.height - 1 - pen.row + count))
    pen.row = pen.height - 1
    pen.reach = pen.height
    return grid[count:]


def rewrite(
    pen: Pen,
    start: int,
    lines: Sequence[SafeRow],
    last: int,
    *,
    old: Sequence[SafeRow] | None,
    final: int = 0,
) -> None:
    """Write rows one below the other, starting at row `start` of the grid; then the last one is row `last`.

    `old` is the current content, to know what needs erasing; None means unknown. Each row past the bottom of
    the terminal pushes one row into the history. The first `final` rows are never written again: they wrap
    if the terminal has become narrower without our knowing.
    """
    if not lines:
        return
    pen.to(start)
    pen.write("\r")
    fresh_from = pen.height if old is None else min(len(old), pen.height)
    wraps = False
    for number, line in enumerate(lines):
        if number:
            pen.write("\r\n")
        at = start + number
        if line.image:
            picture = image_rows.fit_row(line.text, min(at, pen.height - 1))
            pen.write(f"{ERASE_RIGHT}{picture}" if at < fresh_from else picture)
            continue
        if wraps != (number < final and is_rewritten(line)):
            wraps = not wraps
            pen.write(sequences.AUTOWRAP_ON if wraps else sequences.AUTOWRAP_OFF)
        pen.write(line.text)
        if at < fresh_from and (line.width < pen.columns if old is None else line.width < old[at].width):
            pen.write(ERASE_RIGHT)
    if wraps:
        pen.write(sequences.AUTOWRAP_OFF)
    pen.row = last
    pen.reach = min(max(pen.reach, start + len(lines)), pen.height)


def is_rewritten(line: SafeRow) -> bool:
    """Whether a row is written once more when it becomes final, and wraps then: wide enough that the terminal
    may have cut it, and all terminals agree on its width."""
    return line.width > SAFE_CELLS and is_simple(escape_pattern().sub("", line.text))


def clear_from_here(pen: Pen) -> None:
    """Clear the cursor's row and all below it, even if it is the first one: see `erase_below`."""
    pen.write(f"\r{ERASE_RIGHT}\n{ERASE_BELOW}\x1b[A" if pen.height > 1 else f"\r{ERASE_RIGHT}")


def erase_below(pen: Pen, row: int) -> None:
    """Clear this window row and all rows below it.

    Never start at the very first cell: tmux treats that as a cleared screen and pushes it into its history.
    """
    if row == 0:
        pen.to(0)
        pen.write(f"\r{ERASE_RIGHT}")
        if pen.reach <= 1:
            return
        row = 1
    pen.to(row)
    pen.write(f"\r{ERASE_BELOW}")


def update(pen: Pen, old: list[SafeRow], new: Sequence[SafeRow], *, shifted: int = 0) -> bool:
    """Rewrite changed window rows in place; returns whether anything was written.

    `shifted`: by how many rows the content above the last rows moved up without scrolling.
    """
    before = len(pen.parts)
    old = _move_rows(pen, old, new, shifted)
    for row, line in enumerate(new):
        was = old[row] if row < len(old) else BLANK
        if line is not was and line.text != was.text:
            pen.to(row)
            pen.write(patch(was, line))
    beyond = [row for row in range(len(new), len(old)) if old[row].text]
    if beyond:
        erase_below(pen, min(beyond[0], max(pen.reach - 1, 0)))
    return len(pen.parts) > before


def _move_rows(pen: Pen, old: list[SafeRow], new: Sequence[SafeRow], shifted: int) -> list[SafeRow]:
    """Let the terminal move rows that only changed position; returns the resulting grid.

    The last rows (an editor below a growing text) move down or up by inserting or deleting lines above them.
    """
    if any(line.image for line in old) or any(line.image for line in new):
        return old
    same = _same_at_end(old, new)
    step = len(new) - len(old)
    if step and same and sum(len(line.text) for line in new[len(new) - same :]) >= _MIN_MOVED_CHARS:
        old = _move_tail(pen, old, same, step)
    if shifted > 0 and len(old) == len(new):
        old = _move_body(pen, old, new, len(new) - same, shifted)
    return old


def _move_tail(pen: Pen, old: list[SafeRow], same: int, step: int) -> list[SafeRow]:
    at = len(old) - same
    if step > 0:
        if pen.reach < len(old) + step:
            pen.to(len(old) + step - 1)
        pen.to(at)
        pen.write(f"\x1b[{step}L")
        return [*old[:at], *[BLANK] * step, *old[at:]]
    if at + step < 1:
        return old
    pen.to(at + step)
    pen.write(f"\x1b[{-step}M")
    return [*old[: at + step], *old[at:]]


def _move_body(pen: Pen, old: list[SafeRow], new: Sequence[SafeRow], end: int, shifted: int) -> list[SafeRow]:
    """Move rows 1 to `end` up while those around them stay: rows leave the window, but not into the history.

    Row 0 is never deleted but rewritten, so that the terminal cannot treat this as scrolling.
    """
    gain = sum(len(new[row].text) for row in range(1, end - shifted) if new[row] is old[row + shifted])
    loss = sum(len(new[row].text) for row in range(1, end) if new[row] is old[row])
    if gain <= loss + 4 * _MIN_MOVED_CHARS:
        return old
    pen.to(1)
    pen.write(f"\x1b[{shifted}M")
    moved = [old[0], *old[1 + shifted : end]]
    pen.to(len(moved))
    pen.write(f"\x1b[{shifted}L")
    return [*moved, *[BLANK] * shifted, *old[end:]]


def _same_at_end(old: Sequence[SafeRow], new: Sequence[SafeRow]) -> int:
    same = 0
    for mine, theirs in zip(reversed(old), reversed(new), strict=False):
        if mine is not theirs and mine.text != theirs.text:
            break
        same += 1
    return same
