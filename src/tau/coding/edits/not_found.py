"""Explain why a text was not found in a file, quoting the closest lines for the next attempt."""

import re
from collections.abc import Iterator, Sequence

from tau.base.late import late
from tau.coding.edits.lines import LOOKALIKE, MAX_SHOWN_CHARS, TextLines, folded, quoted, visible
from tau.coding.edits.replace import find

difflib = late("difflib")

MAX_COMPARED_LINES = 5_000
MAX_VOTES_PER_LINE = 50
_NUMBERED = re.compile(r"\s*\d+:")


def why_not_found(text: str, old: str) -> str:
    """Return the likeliest reason, with the actual lines of the file."""
    old_lines = [line.removesuffix("\r") for line in old.removesuffix("\n").split("\n")]
    lines = TextLines(text).bodies
    nonblank = [line for line in old_lines if line.strip()]
    if not nonblank:
        return "It is only whitespace, which the file does not have in this form."
    if all(_NUMBERED.match(line) for line in nonblank):
        stripped = "\n".join(_NUMBERED.sub("", line, count=1) for line in old_lines)
        if find(text, stripped):
            return "It starts with the line numbers that read shows; omit the `N:`."
    for start in _loose_matches(lines, old_lines):
        shown = quoted(lines, start, len(old_lines))
        return f"Only whitespace differs from lines {start + 1}-{start + len(old_lines)}, which are:\n{shown}"
    return nearest_lines(lines, old_lines) or "Nothing similar found; read the file again."


def _loose_matches(lines: list[str], old_lines: list[str]) -> Iterator[int]:
    """Find the lines, ignoring whitespace."""
    wanted = [" ".join(line.split()) for line in old_lines]
    squeezed = [" ".join(line.split()) for line in lines]
    for start in range(len(squeezed) - len(wanted) + 1):
        if squeezed[start] == wanted[0] and squeezed[start : start + len(wanted)] == wanted:
            yield start


def nearest_lines(bodies: Sequence[str], old: Sequence[str]) -> str | None:
    """Show where most of the quoted lines are, and the first that differs; None if nothing is similar."""
    start = _most_votes(bodies, old)
    if start is None:
        start = _most_similar(bodies, old)
    if start is None:
        return None
    starts_above, start = start < 0, max(start, 0)
    for index, row in enumerate(old):
        line = bodies[start + index] if start + index < len(bodies) else None
        if line is None or folded(line, LOOKALIKE) != folded(row, LOOKALIKE):
            has = "the file ends" if line is None else f"the file has `{visible(line[:MAX_SHOWN_CHARS])}`"
            quotes = visible(row[:MAX_SHOWN_CHARS])
            differs = f"Where it quotes `{quotes}`, {has} (line {start + index + 1})."
            break
    else:
        differs = (
            "Its first lines are before the start of the file."
            if starts_above
            else "Only look-alike characters or white space differ."
        )
    return f"{differs} The nearest lines are:\n{quoted(bodies, start, len(old))}"


def _most_votes(bodies: Sequence[str], old: Sequence[str]) -> int | None:
    """Return the line at which most of the old lines would match."""
    where: dict[str, list[int]] = {}
    wanted = {line.strip() for line in old if line.strip()}
    for index, line in enumerate(bodies):
        key = line.strip()
        if key in wanted and len(where.setdefault(key, [])) < MAX_VOTES_PER_LINE:
            where[key].append(index)
    votes: dict[int, int] = {}
    for index, line in enumerate(old):
        for at in where.get(line.strip(), ()):
            votes[at - index] = votes.get(at - index, 0) + 1
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _most_similar(bodies: Sequence[str], old: Sequence[str]) -> int | None:
    """Return the start of the lines among which the longest quoted one has something like it."""
    longest = max(range(len(old)), key=lambda index: len(old[index]))
    compared = list(bodies[:MAX_COMPARED_LINES])
    inside = (index for index, line in enumerate(compared) if old[longest].strip() in line)
    at = next(inside, None) if old[longest].strip() else None
    if at is None:
        candidates = [line for line in compared if line.strip()]
        for close in difflib.get_close_matches(old[longest], candidates, n=1, cutoff=0.7):
            at = compared.index(close)
    return None if at is None else at - longest
