"""Exact text replacement that preserves the line endings of the file."""

import re

from msgspec import Struct

from tau.coding.edits.diff import equal_start
from tau.coding.edits.splices import Splice

MAX_SPANS = 100_000
_LINE_END = re.compile("\r?\n")
_OLD_MAC_LINE_END = re.compile("\r")


class CharSpan(Struct, frozen=True, gc=False):
    """The characters of a match, from `start` up to `end`."""

    start: int
    end: int


def find(text: str, old: str) -> list[CharSpan]:
    """Find all matches of `old`, including overlapping ones, up to MAX_SPANS + 1.

    A newline in `old` matches any kind of line ending.
    """
    newline = line_end(text).pattern
    return find_pattern(text, newline.join(map(re.escape, old.replace("\r\n", "\n").split("\n"))))


def find_pattern(text: str, pattern: str) -> list[CharSpan]:
    """Find all matches of a pattern; a CRLF starts at most one match."""
    compiled = re.compile(pattern)
    spans: list[CharSpan] = []
    match = compiled.search(text)
    while match is not None and len(spans) <= MAX_SPANS:
        start = match.start()
        spans.append(CharSpan(start, match.end()))
        match = compiled.search(text, start + (2 if text.startswith("\r\n", start) else 1))
    return spans


def drop_overlaps(spans: list[CharSpan]) -> list[CharSpan]:
    """Return the spans that can be replaced together: the first of any that overlap."""
    kept: list[CharSpan] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def replacements(text: str, spans: list[CharSpan], new: str) -> list[Splice]:
    """Replace every span; new lines get the line endings of their surroundings."""
    if "\n" not in new:
        return [Splice(span.start, span.end, new) for span in spans]
    ending = line_end(text)
    return [Splice(span.start, span.end, _fitted(new, text, span, ending)) for span in spans]


def line_at(text: str, position: int) -> int:
    """Return the one-based number of the line with this character."""
    return len(line_end(text).findall(text, 0, position)) + 1


def line_end(text: str) -> re.Pattern[str]:
    """Return the line-ending pattern. A lone carriage return ends a line only in a file without newlines."""
    return _OLD_MAC_LINE_END if "\n" not in text and "\r" in text else _LINE_END


def _fitted(new: str, text: str, span: CharSpan, ending: re.Pattern[str]) -> str:
    """Give `new` the file's line endings: unchanged lines at top and bottom keep theirs, others follow."""
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
    """Return the ending of the span's line, or of the line before it."""
    after = ending.search(text, span.end)
    if after is not None:
        return after[0]
    if ending is _OLD_MAC_LINE_END:
        return "\r"
    last = text.rfind("\n", 0, span.start)
    return "\r\n" if text.endswith("\r", 0, max(last, 0)) else "\n"
