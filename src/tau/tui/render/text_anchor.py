"""Finds a place of the text again after the rows were laid out at another width."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from tau.tui.render.audit import visible_text
from tau.tui.render.compose import Record
from tau.tui.render.ledger import RowPlace
from tau.tui.text.cut import cut
from tau.tui.text.width import visible_width

_KEY_LETTERS = 24
_LEAST_LETTERS = 6


class TextAnchor(NamedTuple):
    """The place before a row, in letters: they do not depend on the width, unlike borders and blanks."""

    letters: int
    """How many letters come before."""
    before: str
    """The last of them."""
    after: str
    """The first letters of what follows."""
    blanks: int
    """How many rows without letters come directly before."""


class Anchor(NamedTuple):
    """A place of the record, independent of the width."""

    block: int
    place: TextAnchor


def anchor_at(record: Record, at: RowPlace) -> Anchor:
    """Describe the place at a row of the frame."""
    row = min(max(at.row - record.start, 0), len(record.rows))
    block = max(bisect_right(record.block_starts, row) - 1, 0)
    start, end = _block(record, block)
    return Anchor(block, text_anchor(record.rows[start:end], RowPlace(row - start, at.skipped)))


def find_anchor(record: Record, anchor: Anchor) -> RowPlace:
    """Return where that place is now, in rows of the frame."""
    start, end = _block(record, anchor.block)
    found = find_place(record.rows[start:end], anchor.place)
    return RowPlace(record.start + start + found.row, found.skipped)


def _block(record: Record, block: int) -> tuple[int, int]:
    starts = (*record.block_starts, len(record.rows))
    return starts[min(block, len(starts) - 1)], starts[min(block + 1, len(starts) - 1)]


def text_anchor(rows: Sequence[str], at: RowPlace) -> TextAnchor:
    """Describe the place at a row of these rows."""
    texts = [_letters(row) for row in rows]
    head = "".join(texts[: at.row]) + "".join(texts[at.row : at.row + 1])[: at.skipped]
    blanks = 0
    while not at.skipped and blanks < at.row and not texts[at.row - 1 - blanks]:
        blanks += 1
    after = "".join(texts[at.row : at.row + _KEY_LETTERS])[at.skipped :]
    return TextAnchor(len(head), head[-_KEY_LETTERS:], after[:_KEY_LETTERS], blanks)


def find_place(rows: Sequence[str], place: TextAnchor) -> RowPlace:
    """Find the place in these rows. If in doubt, return an earlier one: a repeated row is not a lost one."""
    if not place.after:
        return RowPlace(len(rows))
    texts = [_letters(row) for row in rows]
    text = "".join(texts)
    offset = place.letters
    is_exact = offset <= len(text) and (
        text[:offset].endswith(place.before) or text.startswith(place.after, offset)
    )
    if not is_exact:
        offset = _nearest(text, place)
    row = start = 0
    while start < offset and start + len(texts[row]) <= offset:
        start += len(texts[row])
        row += 1
    if start < offset:
        return RowPlace(row, offset - start if is_exact else 0)
    blanks = 0
    while blanks < place.blanks and row < len(texts) and not texts[row]:
        row += 1
        blanks += 1
    return RowPlace(row)


def _nearest(text: str, place: TextAnchor) -> int:
    """Return where the letters around the place are now, as near as possible to where they should be."""
    sizes = (_KEY_LETTERS, _KEY_LETTERS // 2, _LEAST_LETTERS)
    keys = [(place.after[:size], 0) for size in sizes] + [(place.before[-size:], size) for size in sizes]
    for key, length in keys:
        if len(key) >= _LEAST_LETTERS:
            wanted = max(place.letters - length, 0)
            found = [at for at in (text.rfind(key, 0, wanted + len(key)), text.find(key, wanted)) if at >= 0]
            if found:
                return min(found, key=lambda at: abs(at - wanted)) + min(length, len(key))
    return min(place.letters, len(text))


def first_letters(row: str, count: int) -> str:
    """Return the first letters of a row."""
    return _letters(row)[:count]


def skip_letters(row: str, letters: str) -> str:
    """Return a row without these letters at its beginning, and what follows them up to a blank, but with its
    indentation; unchanged if it begins differently."""
    count = len(letters)
    if not count or not _letters(row).startswith(letters):
        return row
    text = visible_text(row)
    places = [at for at, char in enumerate(text) if char.isalnum()]
    if count >= len(places):
        return ""
    end = at = places[count - 1] + 1
    while end < len(text) and not text[end].isalnum() and not text[end].isspace():
        end += 1
    if text[end].isspace():
        at = end
    while text[at].isspace():
        at += 1
    rest = cut(row, visible_width(text[:at]), visible_width(text))
    return " " * visible_width(text[: places[0]]) + rest


def _letters(row: str) -> str:
    """Keep only letters and digits."""
    text = visible_text(row)
    return text if text.isalnum() else "".join(filter(str.isalnum, text))
