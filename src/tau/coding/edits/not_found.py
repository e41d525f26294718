"""Explain why a text was not found in a file, quoting the closest lines for the next attempt."""

import re
from collections.abc import Iterator

from tau.base.late import late
from tau.coding.edits.exact_match import find
from tau.coding.edits.lines import quoted

difflib = late("difflib")

MAX_COMPARED_LINES = 5_000
_NUMBERED = re.compile(r"\s*\d+:")


def why_not_found(text: str, old: str) -> str:
    """Return the likeliest reason, with the actual lines of the file."""
    old_lines = [line.removesuffix("\r") for line in old.removesuffix("\n").split("\n")]
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    filled = [line for line in old_lines if line.strip()]
    if not filled:
        return "It is only whitespace, which the file does not have in this form."
    if all(_NUMBERED.match(line) for line in filled):
        stripped = "\n".join(_NUMBERED.sub("", line, count=1) for line in old_lines)
        if find(text, stripped):
            return "It starts with the line numbers that read shows; omit the `N:`."
    for start in _loose_matches(lines, old_lines):
        shown = quoted(lines, start, len(old_lines))
        return f"Only whitespace differs from lines {start + 1}-{start + len(old_lines)}, which are:\n{shown}"
    return _nearest_text(lines, max(filled, key=len))


def _loose_matches(lines: list[str], old_lines: list[str]) -> Iterator[int]:
    """Find the lines, ignoring whitespace."""
    wanted = [" ".join(line.split()) for line in old_lines]
    squeezed = [" ".join(line.split()) for line in lines]
    for start in range(len(squeezed) - len(wanted) + 1):
        if squeezed[start] == wanted[0] and squeezed[start : start + len(wanted)] == wanted:
            yield start


def _nearest_text(lines: list[str], wanted: str) -> str:
    for number, line in enumerate(lines):
        if wanted.strip() in line:
            return f"One of its lines is line {number + 1}, but those around it differ:\n" + quoted(
                lines, max(number - 2, 0), 5
            )
    candidates = [line for line in lines[:MAX_COMPARED_LINES] if line.strip()]
    for close in difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.7):
        number = lines.index(close)
        return f"The nearest line is:\n{quoted(lines, number, 1)}"
    return "Nothing similar found; read the file again."
