"""Turns one row into another with few bytes: keeps the common prefix and writes the rest."""

import re
from functools import cache

from tau.tui.render.row_sanitizer import SafeRow
from tau.tui.text.sgr import Styles, escape_pattern
from tau.tui.text.width import NARROW, WIDE, visible_width

_MIN_KEPT = 4
_LONGEST_ROW = 4096


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
    kept = _kept(old.text, new.text)
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


def _kept(old: str, new: str) -> int:
    """Return how many characters of `new` may stay, without splitting a sequence or a cluster."""
    length = _shared(old, new)
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


def _shared(old: str, new: str) -> int:
    """Return the length of the common prefix."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_start(text: str, at: int) -> bool:
    return at >= len(text) or _simple().match(text, at) is not None


def _sequence_around(text: str, escape: int) -> tuple[int, int]:
    """Return the sequence that this escape character begins, or ends as the first half of ST."""
    if text.startswith("\\", escape + 1):
        start = text.rfind("\x1b]", 0, escape)
        return (start, escape + 2) if start >= 0 else (escape, escape + 2)
    match = escape_pattern().match(text, escape)
    return (escape, match.end()) if match else (escape, len(text))
