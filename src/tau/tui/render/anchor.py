"""Where the history ends after the width changed and the history itself could not be written again."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from tau.tui.render.audit import visible
from tau.tui.text.width import visible_width

_KEY_LETTERS = 24
_LEAST_LETTERS = 6
_SEARCHED_ROWS = 64


def rewrapped(pending: Sequence[str], rows: Sequence[str], end: int) -> int:
    """The first row, counted up from `end`, from which on `rows` hold all the text of `pending`.

    `pending` are the rows at the old width that are not in the history, up to the same place in the text.
    Rows that are cut at the width hold fewer letters when narrower, and as many rows when wider; text that
    is wrapped holds the same letters. Taking the larger need of both may repeat rows but loses none. Should a
    component have changed its text with the width, the first letters are looked for above that place.
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
    """The last row above `at` in which this text begins; `at` if it begins there or nowhere above."""
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
    """Letters and digits only: frames and rules change with the width."""
    text = visible(row)
    return text if text.isalnum() else "".join(filter(str.isalnum, text))


def wrapped_heights(rows: Sequence[str], width: int) -> list[int]:
    """How many rows each of these takes, at least, on a terminal that became narrower and wraps them."""
    return [max(1, -(-visible_width(visible(row)) // max(width, 1))) for row in rows]
