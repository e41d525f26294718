"""Cuts, truncates, pads and fits styled lines by columns."""

from tau.tui.text.sgr import StyleMark, Styles, build_row, is_style
from tau.tui.text.width import grapheme_width, graphemes, is_narrow, split_styles, visible_width


def truncate(text: str, width: int, ellipsis: str = "…") -> str:
    """Return the text, cut to fit `width` cells with an ellipsis if needed."""
    if visible_width(text) <= width:
        return text
    if width <= 0:
        return ""
    room = width - visible_width(ellipsis)
    if room < 0:
        return truncate(ellipsis, width, "")
    plain, marks = split_styles(text)
    _, end = _span(plain, 0, room)[1]
    return _row(plain, marks, 0, end, after=ellipsis)


def cut(text: str, start: int, end: int) -> str:
    """Return the columns [start, end) with the styles open there; half a wide character becomes a space.

    Zero-width characters belong to the character before them.
    """
    start = max(start, 0)
    if end <= start:
        return ""
    if text.isascii() and text.isprintable():
        return text[start:end]
    plain, marks = split_styles(text)
    before, (first, last), after = _span(plain, start, end)
    return _row(plain, marks, first, last, before=" " * before, after=" " * after)


def pad(text: str, width: int) -> str:
    """Pad the text with spaces to `width` cells; wider text is unchanged."""
    missing = width - visible_width(text)
    return text + " " * missing if missing > 0 else text


def fit(text: str, width: int) -> str:
    """Cut (without an ellipsis) or pad the text to exactly `width` cells."""
    missing = width - visible_width(text)
    if missing == 0:
        return text
    return text + " " * missing if missing > 0 else cut(text, 0, width)


def _span(plain: str, start: int, end: int) -> tuple[int, tuple[int, int], int]:
    """Return the character range of the columns, and the padding for half characters before and after."""
    if is_narrow(plain):
        return 0, (min(start, len(plain)), min(end, len(plain))), 0
    before = after = column = at = 0
    first = -1
    for grapheme in graphemes(plain):
        width = grapheme_width(grapheme)
        if first < 0 and (column >= start and (width or start == 0)):
            first = at
        elif first < 0 and column + width > start:
            first = at + len(grapheme)
            before = min(column + width, end) - start
        if column + width > end:
            after = max(end - column, 0) if column >= start else 0
            break
        if column >= end and width:
            break
        column += width
        at += len(grapheme)
    first = at if first < 0 else first
    return before, (first, max(at, first)), after


def _row(
    plain: str, marks: list[StyleMark], start: int, end: int, *, before: str = "", after: str = ""
) -> str:
    if not marks:
        return f"{before}{plain[start:end]}{after}"
    reaches_end = after or end in (start, len(plain))
    kept = [mark for mark in marks if mark[0] < end or (mark[0] == end and reaches_end)]
    if start:
        # Only styles matter of what comes before the part.
        kept = [(at, sequence) for at, sequence in kept if at >= start or is_style(sequence)]
    if before:
        kept = [(at if at < start else at + len(before), sequence) for at, sequence in kept]
    shown = f"{plain[:start]}{before}{plain[start:end]}{after}"
    return build_row(shown, kept, start, end + len(before) + len(after), Styles(), 0)[0]
