"""Exact replacement in a text: finds every place, and keeps the line ends of the file."""

import re

from msgspec import Struct

from tau.coding.edits.diff import equal_start
from tau.coding.edits.splices import Splice

MAX_SPANS = 100_000
_LINE_END = re.compile("\r?\n")
_OLD_MAC_LINE_END = re.compile("\r")


class CharSpan(Struct, frozen=True, gc=False):
    """Where a match stands: characters from `start` up to `end`."""

    start: int
    end: int


def find(text: str, old: str) -> list[CharSpan]:
    """Every place where `old` stands, overlapping ones too, up to MAX_SPANS and one more.

    A newline in `old` matches the newline of the file, of whichever kind.
    """
    newline = line_end(text).pattern
    return find_pattern(text, newline.join(map(re.escape, old.replace("\r\n", "\n").split("\n"))))


def find_pattern(text: str, pattern: str) -> list[CharSpan]:
    """Every place where a pattern matches; the two characters of one line end begin one place, not two."""
    compiled = re.compile(pattern)
    spans: list[CharSpan] = []
    match = compiled.search(text)
    while match is not None and len(spans) <= MAX_SPANS:
        start = match.start()
        spans.append(CharSpan(start, match.end()))
        match = compiled.search(text, start + (2 if text.startswith("\r\n", start) else 1))
    return spans


def apart(spans: list[CharSpan]) -> list[CharSpan]:
    """The spans that can be replaced together: of overlapping ones the first."""
    kept: list[CharSpan] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def replacements(text: str, spans: list[CharSpan], new: str) -> list[Splice]:
    """Every span replaced; the new lines end as the lines around them do."""
    if "\n" not in new:
        return [Splice(span.start, span.end, new) for span in spans]
    ending = line_end(text)
    return [Splice(span.start, span.end, _fitted(new, text, span, ending)) for span in spans]


def line_at(text: str, position: int) -> int:
    """The number of the line that holds this character, counted from 1."""
    return len(line_end(text).findall(text, 0, position)) + 1


def line_end(text: str) -> re.Pattern[str]:
    """A carriage return ends a line only in a file that knows no other way; elsewhere it is a character."""
    return _OLD_MAC_LINE_END if "\n" not in text and "\r" in text else _LINE_END


def _fitted(new: str, text: str, span: CharSpan, ending: re.Pattern[str]) -> str:
    """`new` with the file's own line ends: lines that stay at top or bottom keep theirs, others follow."""
    matched = text[span.start : span.end]
    ends = ending.findall(matched)
    old_lines = ending.split(matched)
    new_lines = new.replace("\r\n", "\n").split("\n")
    wanted = len(new_lines) - 1
    top = equal_start(old_lines, new_lines)
    bottom = equal_start(old_lines[top:][::-1], new_lines[top:][::-1])
    usual = ends[0] if ends else _nearest_end(text, span, ending)
    result = [new_lines[0]]
    for index in range(wanted):
        from_bottom = wanted - index
        if index < min(top, len(ends)):
            end = ends[index]
        elif from_bottom <= min(bottom, len(ends)):
            end = ends[-from_bottom]
        else:
            end = ends[min(index, len(ends) - 1)] if ends else usual
        result += (end, new_lines[index + 1])
    return "".join(result)


def _nearest_end(text: str, span: CharSpan, ending: re.Pattern[str]) -> str:
    """How the line ends in which the span stands, or the one before it."""
    after = ending.search(text, span.end)
    if after is not None:
        return after[0]
    if ending is _OLD_MAC_LINE_END:
        return "\r"
    last = text.rfind("\n", 0, span.start)
    return "\r\n" if text.endswith("\r", 0, max(last, 0)) else "\n"
