"""Splits a long paragraph into pieces, so that a growing one is never parsed as a whole."""

from typing import NamedTuple

from tau.tui.widgets.markdown.limits import PARAGRAPH_CHARS, PIECE_CHARS

_TRIES = 16


class ParagraphChunk(NamedTuple):
    """A part [start, end) of a paragraph's text."""

    start: int
    end: int
    join: str = ""
    """The separator before it: a newline, a space, or nothing."""


def split_paragraph(text: str, start: int = 0) -> list[ParagraphChunk]:
    """Split a text into pieces; one, unless it is long. With a `start`, the text is the rest of a long one.

    The end of a piece depends only on the text from its start to slightly past its end, not on how much more
    has arrived.
    """
    found: list[ParagraphChunk] = []
    join = ""
    while len(text) - start > (2 * PIECE_CHARS if start else PARAGRAPH_CHARS):
        end, following, next_join = _end_of_piece(text, start)
        found.append(ParagraphChunk(start, end, join))
        start, join = following, next_join
    found.append(ParagraphChunk(start, len(text), join))
    return found


def _end_of_piece(text: str, start: int) -> tuple[int, int, str]:
    limit = start + PIECE_CHARS
    for sign in ("\n", " "):
        least = start + PIECE_CHARS // 2
        at = text.rfind(sign, least, limit + 1)
        first = at
        for _ in range(_TRIES):
            if at < 0 or _is_closed(text[start:at]):
                break
            at = text.rfind(sign, least, at)
        at = at if at >= 0 else first
        if at >= 0:
            end = at
            while end > start and text[end - 1] in " \\":
                end -= 1
            if text[at + 1] == "\n":
                return end, at + 2, "\n"
            return end, at + 1, sign
    return limit, limit, ""


def _is_closed(text: str) -> bool:
    """Whether no emphasis, code or link seems to be open at the end."""
    return (
        text.count("`") % 2 == 0
        and text.count("**") % 2 == 0
        and text.count("[") == text.count("]")
        and text.count("](") <= text.count(")")
    )
