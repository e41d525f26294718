"""Finds where the history ends in a frame after a width change, since the history cannot be rewritten."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from tau.tui.render.audit import visible_text
from tau.tui.text.width import visible_width

_KEY_LETTERS = 24
_LEAST_LETTERS = 6
_SEARCHED_ROWS = 64


def find_rewrapped_start(pending: Sequence[str], rows: Sequence[str], end: int) -> int:
    """Return the first row, counting up from `end`, such that `rows` from it contain all of `pending`.

    `pending` are the rows at the old width that are not in the history, up to the same place in the text.
    Truncated rows have fewer letters when narrower, and as many rows when wider; wrapped text keeps its
    letters. Taking the larger of both needs may repeat rows but loses none. In case a component changed its
    text with the width, also search for the first letters above that place.
    """
    texts = [_letters(row) for row in pending]
    letters = sum(map(len, texts))
    at = end
    found = 0
    while at > 0 and (found < letters or end - at < len(pending)):
        at -= 1
        found += len(_letters(rows[at]))
    return _begins_above("".join(texts)[:_KEY_LETTERS], rows, at)


def _begins_above(key: str, rows: Sequence[str], at: int) -> int:
    """Return the last row above `at` where this text begins; `at` if it begins there or nowhere above."""
    low = max(0, at - _SEARCHED_ROWS)
    texts = [_letters(row) for row in rows[low : at + _KEY_LETTERS]]
    ends = list(accumulate(map(len, texts)))
    text = "".join(texts)
    place = -1
    while place < 0 and key:
        place = text.rfind(key)
        half = len(key) // 2
        key = key[:half] if half >= _LEAST_LETTERS else ""
    return min(at, low + bisect_right(ends, place)) if place >= 0 else at


def _letters(row: str) -> str:
    """Keep only letters and digits: borders and rules change with the width."""
    text = visible_text(row)
    return text if text.isalnum() else "".join(filter(str.isalnum, text))


def wrapped_heights(rows: Sequence[str], width: int) -> list[int]:
    """Return the minimum height of each row after a narrower terminal wraps it."""
    return [max(1, -(-visible_width(visible_text(row)) // max(width, 1))) for row in rows]
