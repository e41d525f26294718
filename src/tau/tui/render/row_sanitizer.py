"""Sanitizes rows before they reach the terminal, whatever a component put into them.

Text passes, as do SGR and OSC 8 sequences and registered image sequences. Everything else is removed. Rows
that are too wide are cut, open styles are closed, and invisible blanks at the end are dropped: a narrower
terminal would wrap them. Nothing here raises.
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
_SHOWN_ON_BLANKS = {"bg", "inverse", "underline", "strike", "overline"}


# Compiled on first use: a plain first frame needs none.
@cache
def _allowed() -> re.Pattern[str]:
    return re.compile(rf"(\x1b\[[0-9;:]{{0,64}}m|{_LINK})")


@cache
def _links() -> re.Pattern[str]:
    return re.compile(_LINK)


@cache
def _last_blanks() -> re.Pattern[str]:
    return re.compile(rf" (?:\x1b\[[0-9;:]{{0,64}}m|{_LINK})*\Z")


@cache
def _unsafe() -> re.Pattern[str]:
    return re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]")


class SafeRow(NamedTuple):
    """A row that is safe to write."""

    text: str
    width: int
    """Its width in cells."""
    image: bool = False
    """Whether it has an image: such rows are written whole and never moved."""


BLANK = SafeRow("", 0)


class RowSanitizer:
    """Sanitizes rows for one width, with a cache of recent rows."""

    __slots__ = ("_known", "_older", "hyperlinks", "width")

    def __init__(self, width: int, *, hyperlinks: bool = True) -> None:
        self.width = max(width, 1)
        self.hyperlinks = hyperlinks
        self._known: dict[str, SafeRow] = {}
        self._older: dict[str, SafeRow] = {}

    def lines(self, rows: Iterable[str]) -> list[SafeRow]:
        """Sanitize the rows of a window; equal rows give the identical object across frames."""
        known = self._known
        lines = []
        for row in rows:
            line = known.get(row)
            if line is None:
                line = self._older.get(row) or self.line(row)
                known[row] = line
            lines.append(line)
        if len(known) > _CACHED_LINES:
            self._older, self._known = known, {}
        return lines

    def line(self, row: str) -> SafeRow:
        """Sanitize one row without caching."""
        if row.isascii() and row.isprintable() and len(row) <= self.width:
            row = row.rstrip(" ")
            return SafeRow(row, len(row)) if row else BLANK
        if "\x1b" in row:
            if CURSOR_MARKER in row:
                return self.line(row.replace(CURSOR_MARKER, ""))
            if any(start in row for start in _IMAGE_STARTS) and image_rows.is_image_row(row):
                return self._image(row)
        line = self.part(row)
        return _without_last_blanks(line) if _last_blanks().search(line.text) else line

    def part(self, row: str) -> SafeRow:
        """Sanitize a part of a row, with the blanks at its end."""
        sequences: list[str] = []
        plain = row
        if "\x1b" in row:
            if not self.hyperlinks and "\x1b]8;" in row:
                row = _links().sub("", row)
            sequences = _allowed().findall(row)
            plain = _allowed().sub("", row) if sequences else row
        if not plain.isprintable() and _unsafe().search(plain):
            row = _neutralize(row)
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
                line = self.part(text)
                pieces.append(line.text)
                width += line.width
        return SafeRow("".join(pieces), min(width, self.width), True)


def _without_last_blanks(line: SafeRow) -> SafeRow:
    """Drop the blanks at the end that no style makes visible."""
    pieces = _allowed().split(line.text)
    styles = Styles()
    last, text = -1, ""
    for at, piece in enumerate(pieces):
        if at % 2:
            styles.feed(piece)
        elif piece and not _SHOWN_ON_BLANKS.isdisjoint(styles.slots):
            last, text = at, piece
        elif kept := piece.rstrip(" "):
            last, text = at, kept
    if last < 0:
        return BLANK
    row = "".join((*pieces[:last], text, *pieces[last + 1 :: 2]))
    return SafeRow(row, visible_width(row))


def _neutralize(row: str) -> str:
    """Keep the escape character of allowed sequences only, so that the rest cannot form a new sequence."""
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
    """Replace a lone surrogate with a symbol and a control character with nothing."""
    return "\ufffd" if "\ud800" <= match[0] <= "\udfff" else ""


_closers: dict[str, str] = {}


def _closer(sequences: list[str]) -> str:
    """Return what closes the styles left open; nothing for a well-formed row."""
    key = "".join(sequences)
    closer = _closers.get(key)
    if closer is None:
        styles = Styles()
        for sequence in sequences:
            styles.feed(sequence)
        if len(_closers) >= _CACHED_CLOSERS:
            _closers.clear()
        closer = _closers[key] = styles.closing()
    return closer
