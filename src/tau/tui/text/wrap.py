"""Wraps styled text into rows, by word or anywhere, never inside a grapheme."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tau.tui.text.sgr import StyleMark, Styles, build_row
from tau.tui.text.width import (
    grapheme_width,
    graphemes,
    is_narrow,
    is_simple,
    simple_width,
    split_styles,
    visible_width,
)

Span = tuple[int, int]

# Lines may break anywhere between characters of these scripts, except around some punctuation.
_NOT_FIRST = frozenset(
    "、。，．・：；？！゛゜ヽヾゝゞ々ー’”）〕］｝〉》」』】°′″℃％‰ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ…‥!),.:;?]}"
)
_NOT_LAST = frozenset("‘“（〔［｛〈《「『【([{")


def wrap(text: str, width: int) -> list[str]:
    """Wrap at spaces, which are dropped there, and inside words longer than a row.

    Every row closes its styles and links; the next reopens them.
    """
    return _rows(text, max(width, 1), word_spans)


def wrap_hard(text: str, width: int) -> list[str]:
    """Wrap into rows that are as full as possible; no space is dropped."""
    return _rows(text, max(width, 1), _hard_spans)


def _rows(text: str, width: int, spans_of: Callable[[str, int], list[Span]]) -> list[str]:
    if len(text) <= width and text.isascii() and text.isprintable():
        return [text]
    plain, marks = split_styles(text)
    if width < 2:
        # A question mark can join the character before it, so it may need another pass.
        while any(grapheme_width(grapheme) > 1 for grapheme in graphemes(plain)):
            plain, marks = _without_wide(plain, marks)
    rows: list[str] = []
    styles = Styles()
    at = offset = 0
    for line in plain.split("\n"):
        spans = [(0, len(line))] if len(line) * 2 <= width else spans_of(line, width)
        if not marks:
            rows += [line[start:end] for start, end in spans]
            continue
        for start, end in spans:
            row, at = build_row(plain, marks, start + offset, end + offset, styles, at)
            rows.append(row)
        offset += len(line) + 1
    if marks and at < len(marks):
        rows[-1] += "".join(sequence for _, sequence in marks[at:] if not styles.feed(sequence))
    return rows


def _without_wide(plain: str, marks: list[StyleMark]) -> tuple[str, list[StyleMark]]:
    """For one-cell rows: replace each two-cell character with a question mark."""
    out: list[str] = []
    moved: list[StyleMark] = []
    length = end = at = 0
    for grapheme in graphemes(plain):
        shown = grapheme if grapheme_width(grapheme) < 2 else "?"
        while at < len(marks) and marks[at][0] <= end:
            moved.append((length, marks[at][1]))
            at += 1
        out.append(shown)
        length += len(shown)
        end += len(grapheme)
    moved += [(length, sequence) for _, sequence in marks[at:]]
    return "".join(out), moved


def _hard_spans(line: str, width: int) -> list[Span]:
    if is_narrow(line):
        length = len(line)
        return [(at, min(at + width, length)) for at in range(0, length, width)] or [(0, 0)]
    spans: list[Span] = []
    start = at = column = 0
    for grapheme in graphemes(line):
        cells = grapheme_width(grapheme)
        if column + cells > width:
            spans.append((start, at))
            start, column = at, 0
        column += cells
        at += len(grapheme)
    spans.append((start, at))
    return spans


def word_spans(line: str, width: int) -> list[Span]:
    """Return the row ranges of a line without escape sequences."""
    if not line.strip(" "):
        return _hard_spans(line, width)[:1]
    if is_narrow(line):
        return _narrow_spans(line, width)
    return _simple_spans(line, width) if is_simple(line) and width > 1 else _cluster_spans(line, width)


def _narrow_spans(line: str, width: int) -> list[Span]:
    length = len(line)
    if length <= width:
        return [(0, length)]
    spans: list[Span] = []
    start = 0
    first_word = length - len(line.lstrip(" "))
    while length - start > width:
        blank = line.rfind(" ", start, start + width + 1)
        if blank <= max(start, first_word):
            spans.append((start, start + width))
            start += width
            continue
        end = blank
        while line[end - 1] == " ":
            end -= 1
        spans.append((start, end))
        start = blank + 1
        while start < length and line[start] == " ":
            start += 1
    if start < length:
        spans.append((start, length))
    return spans


def _simple_spans(line: str, width: int) -> list[Span]:
    """For characters of one or two cells that are all separate graphemes."""
    spans: list[Span] = []
    length = len(line)
    start = 0
    first_word = length - len(line.lstrip(" "))
    while start < length:
        reach = _reach(line, start, width)
        if reach == length:
            spans.append((start, length))
            break
        end = reach
        least = max(start, first_word)
        while end > least and line[end] != " " and not _may_break(line[end - 1], line[end]):
            end -= 1
        if end <= least:
            spans.append((start, reach))
            start = reach
            continue
        start_before, start = start, end
        while line[end - 1] == " ":
            end -= 1
        spans.append((start_before, end))
        while start < length and line[start] == " ":
            start += 1
    return spans


def _reach(line: str, start: int, width: int) -> int:
    """Return the end of the characters from `start` that fit in the width."""
    end = start
    while True:
        step = width // 2
        if step == 0:
            return end + 1 if width and simple_width(line[end : end + 1]) == 1 else end
        piece = line[end : end + step]
        if not piece:
            return end
        end += len(piece)
        width -= simple_width(piece)


def _cluster_spans(line: str, width: int) -> list[Span]:
    spans: list[Span] = []
    start = end = column = 0
    has_word = False
    for word in _words(line):
        if column + word.blanks + word.cells <= width:
            column += word.blanks + word.cells
        else:
            if has_word:
                spans.append((start, end))
                start, column = word.start, 0
            pieces = _hard_spans(line[start : word.end], width)
            spans += [(start + first, start + last) for first, last in pieces[:-1]]
            start += pieces[-1][0]
            column = visible_width(line[start : word.end])
        end = word.end
        has_word = True
    trailing = len(line) - end
    spans.append((start, end + trailing if column + trailing <= width else end))
    return spans


class _Word(NamedTuple):
    """Graphemes that stay together if they fit in a row, and the spaces before them."""

    blanks: int
    start: int
    end: int
    cells: int


def _words(line: str) -> Iterator[_Word]:
    blanks = cells = start = at = 0
    previous = " "
    for grapheme in graphemes(line):
        if previous != " " and (grapheme == " " or _may_break(previous, grapheme)):
            yield _Word(blanks, start, at, cells)
            blanks = cells = 0
            start = at
        if grapheme == " ":
            blanks += 1
            start = at + 1
        else:
            cells += grapheme_width(grapheme)
        previous = grapheme
        at += len(grapheme)
    if start < at:
        yield _Word(blanks, start, at, cells)


def _may_break(before: str, after: str) -> bool:
    if before == " " or not (_is_ideograph(before[0]) or _is_ideograph(after[0])):
        return False
    return after[0] not in _NOT_FIRST and before[0] not in _NOT_LAST


def _is_ideograph(character: str) -> bool:
    return "\u2e80" <= character <= "\ua4cf" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"
