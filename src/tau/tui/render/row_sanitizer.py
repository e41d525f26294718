"""The gate: what a row may contain when it leaves for the terminal, whatever a component put into it.

Text passes, and SGR and OSC 8 sequences, and the sequences that pictures have registered. All else is taken
out. A row that is too wide is cut, styles that a row leaves open are closed. Nothing here raises.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from tau.tui.component import CURSOR_MARKER
from tau.tui.images.marks import image_rows
from tau.tui.text.cut import cut
from tau.tui.text.sgr import Styles, escape_pattern
from tau.tui.text.width import visible_width

_LINK = r"\x1b\]8;[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\)"
_IMAGE_STARTS = ("\x1b_G", "\x1b]1337;", "\x1bP")
_CACHED_LINES = 512
_CACHED_CLOSERS = 1024


# Compiled when the first row needs them: a plain first frame needs none.
@cache
def _allowed() -> re.Pattern[str]:
    return re.compile(rf"(\x1b\[[0-9;:]{{0,64}}m|{_LINK})")


@cache
def _links() -> re.Pattern[str]:
    return re.compile(_LINK)


@cache
def _unsafe() -> re.Pattern[str]:
    return re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]")


class SafeRow(NamedTuple):
    """A row that may be written as it is."""

    text: str
    width: int
    """The cells it takes."""
    image: bool = False
    """Whether it holds a picture: such rows are written whole and are not moved about."""


BLANK = SafeRow("", 0)


class RowSanitizer:
    """Makes lines of rows for one width. Rows seen lately are known."""

    __slots__ = ("_known", "_older", "hyperlinks", "width")

    def __init__(self, width: int, *, hyperlinks: bool = True) -> None:
        self.width = max(width, 1)
        self.hyperlinks = hyperlinks
        self._known: dict[str, SafeRow] = {}
        self._older: dict[str, SafeRow] = {}

    def lines(self, rows: Iterable[str]) -> list[SafeRow]:
        """The rows of a window: equal rows give the very same line, frame after frame."""
        known = self._known
        found = []
        for row in rows:
            line = known.get(row)
            if line is None:
                line = self._older.get(row) or self.line(row)
                known[row] = line
            found.append(line)
        if len(known) > _CACHED_LINES:
            self._older, self._known = known, {}
        return found

    def line(self, row: str) -> SafeRow:
        """One row, not remembered."""
        if row.isascii() and row.isprintable() and len(row) <= self.width:
            return SafeRow(row, len(row)) if row else BLANK
        if "\x1b" in row:
            if CURSOR_MARKER in row:
                return self.line(row.replace(CURSOR_MARKER, ""))
            if any(start in row for start in _IMAGE_STARTS) and image_rows.is_image_row(row):
                return self._image(row)
        return self._gated(row)

    def _gated(self, row: str) -> SafeRow:
        sequences: list[str] = []
        plain = row
        if "\x1b" in row:
            if not self.hyperlinks and "\x1b]8;" in row:
                row = _links().sub("", row)
            sequences = _allowed().findall(row)
            plain = _allowed().sub("", row) if sequences else row
        if not plain.isprintable() and _unsafe().search(plain):
            row = _neutralised(row)
            plain = _allowed().sub("", row)
        width = visible_width(plain)
        if width > self.width:
            row = cut(row, 0, self.width)
            return SafeRow(row, visible_width(row))
        return SafeRow(row + _closer(sequences) if sequences else row, width)

    def _image(self, row: str) -> SafeRow:
        pieces: list[str] = []
        width = 0
        for ours, text in image_rows.parts(row):
            if ours:
                pieces.append(text)
            else:
                line = self._gated(text)
                pieces.append(line.text)
                width += line.width
        return SafeRow("".join(pieces), min(width, self.width), True)


def _neutralised(row: str) -> str:
    """Only allowed sequences keep their escape character, so that what is left can form no new sequence."""
    pieces = _allowed().split(row)
    pieces[::2] = [_harmless(piece) for piece in pieces[::2]]
    return "".join(pieces)


def _harmless(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
    if "\x1b" in text:
        text = escape_pattern().sub("", text)
    return _unsafe().sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    """Half a character leaves a sign, a control character nothing."""
    return "\ufffd" if "\ud800" <= match[0] <= "\udfff" else ""


_closers: dict[str, str] = {}


def _closer(sequences: list[str]) -> str:
    """What closes the styles that these sequences leave open: nothing for a row as it should be."""
    key = "".join(sequences)
    found = _closers.get(key)
    if found is None:
        styles = Styles()
        for sequence in sequences:
            styles.feed(sequence)
        if len(_closers) >= _CACHED_CLOSERS:
            _closers.clear()
        found = _closers[key] = styles.closing()
    return found
