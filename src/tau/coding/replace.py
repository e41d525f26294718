"""Exact replacement in a text: finds every place, keeps the file's line ends, tells why nothing was found."""

import re
from collections.abc import Iterator

from msgspec import Struct

from tau.base.late import late

difflib = late("difflib")

MAX_SPANS = 100_000
MAX_COMPARED_LINES = 5_000
MAX_SHOWN_LINES = 12
MAX_SHOWN_CHARS = 200
_NUMBERED = re.compile(r"\s*\d+:")
_LINE_END = re.compile("\r?\n")
_OLD_MAC_LINE_END = re.compile("\r")


class Span(Struct, frozen=True, gc=False):
    """Where a match stands: characters from `start` up to `end`."""

    start: int
    end: int


def find(text: str, old: str) -> list[Span]:
    """Every place where `old` stands, overlapping ones too, up to MAX_SPANS and one more.

    A newline in `old` matches the newline of the file, of whichever kind.
    """
    newline = _line_end(text).pattern
    pattern = re.compile(newline.join(map(re.escape, old.replace("\r\n", "\n").split("\n"))))
    spans: list[Span] = []
    match = pattern.search(text)
    while match is not None and len(spans) <= MAX_SPANS:
        spans.append(Span(match.start(), match.end()))
        match = pattern.search(text, match.start() + 1)
    return spans


def apart(spans: list[Span]) -> list[Span]:
    """The spans that can be replaced together: of overlapping ones the first."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def replace(text: str, spans: list[Span], new: str) -> str:
    """The text with every span replaced; the new lines end as the lines around them do."""
    pieces: list[str] = []
    done = 0
    for span in spans:
        pieces += (text[done : span.start], _fitted(new, text, span))
        done = span.end
    return "".join([*pieces, text[done:]])


def line_at(text: str, position: int) -> int:
    """The number of the line that holds this character, counted from 1."""
    return len(_line_end(text).findall(text, 0, position)) + 1


def _line_end(text: str) -> re.Pattern[str]:
    """A carriage return ends a line only in a file that knows no other way; elsewhere it is a character."""
    return _OLD_MAC_LINE_END if "\n" not in text and "\r" in text else _LINE_END


def _fitted(new: str, text: str, span: Span) -> str:
    """`new` with the file's own line ends: lines that stay at top or bottom keep theirs, others follow."""
    matched = text[span.start : span.end]
    line_end = _line_end(text)
    ends = line_end.findall(matched)
    old_lines = line_end.split(matched)
    new_lines = new.replace("\r\n", "\n").split("\n")
    wanted = len(new_lines) - 1
    top = _common(old_lines, new_lines)
    bottom = _common(old_lines[top:][::-1], new_lines[top:][::-1])
    usual = ends[0] if ends else _nearest_end(text, span)
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


def _nearest_end(text: str, span: Span) -> str:
    """How the line ends in which the span stands, or the one before it."""
    after = _line_end(text).search(text, span.end)
    if after is not None:
        return after[0]
    if _line_end(text) is _OLD_MAC_LINE_END:
        return "\r"
    return "\r\n" if text[: span.start].rpartition("\n")[0].endswith("\r") else "\n"


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def why_not_found(text: str, old: str) -> str:
    """The likeliest reason, with what the file really says, so that the next try can quote it."""
    old_lines = [line.removesuffix("\r") for line in old.split("\n")]
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    filled = [line for line in old_lines if line.strip()]
    if not filled:
        return "It holds nothing but white space, which does not stand there in this form."
    if all(_NUMBERED.match(line) for line in filled):
        stripped = "\n".join(_NUMBERED.sub("", line, count=1) for line in old_lines)
        if find(text, stripped):
            return "It begins with the line numbers that read shows; leave the `N:` out."
    for start in _loose_matches(lines, old_lines):
        shown = _quoted(lines, start, len(old_lines))
        return (
            f"Only white space differs from lines {start + 1}-{start + len(old_lines)}, which are:\n{shown}"
        )
    return _nearest_text(lines, max(filled, key=len))


def _loose_matches(lines: list[str], old_lines: list[str]) -> Iterator[int]:
    """Where the lines stand if white space does not count."""
    wanted = [" ".join(line.split()) for line in old_lines]
    squeezed = [" ".join(line.split()) for line in lines]
    for start in range(len(squeezed) - len(wanted) + 1):
        if squeezed[start] == wanted[0] and squeezed[start : start + len(wanted)] == wanted:
            yield start


def _nearest_text(lines: list[str], wanted: str) -> str:
    for number, line in enumerate(lines):
        if wanted.strip() in line:
            return f"One of its lines stands at line {number + 1}, but those around it differ:\n" + _quoted(
                lines, max(number - 2, 0), 5
            )
    candidates = [line for line in lines[:MAX_COMPARED_LINES] if line.strip()]
    for close in difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.7):
        number = lines.index(close)
        return f"The nearest line is:\n{_quoted(lines, number, 1)}"
    return "Nothing similar stands there; read the file again."


def _quoted(lines: list[str], start: int, count: int) -> str:
    chosen = lines[start : start + min(count, MAX_SHOWN_LINES)]
    rows = [f"{start + index + 1}:{line[:MAX_SHOWN_CHARS]}" for index, line in enumerate(chosen)]
    if count > MAX_SHOWN_LINES:
        rows.append(f"[… {count - MAX_SHOWN_LINES} more lines]")
    return "\n".join(rows)
