"""Where a pattern matches in a line. The pattern comes from a model, so it must be cheap to run."""

import re
from functools import lru_cache

Spans = list[tuple[int, int]]

MAX_LINE_CHARS = 300
MAX_PATTERN_CHARS = 120
MAX_SPANS = 20
_MAX_GROUPS = 2
_MAX_REPEATS = 1
"""Each repetition and group multiplies the time of a failing match."""
# Python warns about these inside a set, and treats them differently from other engines.
_ODD = ("[[", "--", "&&", "||", "~~", "[:")
_LITERAL = r"\w[\w ./:-]+\w|\w\w\w+"


@lru_cache(maxsize=32)
def marker(pattern: str, ignore_case: bool) -> "re.Pattern[str] | None":
    """The pattern itself if simple, else its longest plain word; None if there is none."""
    flags = re.IGNORECASE if ignore_case else 0
    if _is_simple(pattern):
        try:
            return re.compile(pattern, flags)
        except (re.error, OverflowError, RecursionError):
            pass
    plain = re.sub(r"\\[A-Za-z]|[\[{][^\]}]*[\]}]", "\0", pattern[: 10 * MAX_PATTERN_CHARS])
    words = re.findall(_LITERAL, plain.replace("\\", ""))
    return re.compile(re.escape(max(words, key=len)), flags) if words else None


def _is_simple(pattern: str) -> bool:
    bare = re.sub(r"\\.", "\0", pattern, flags=re.DOTALL)
    if not pattern or len(pattern) > MAX_PATTERN_CHARS or any(odd in pattern for odd in _ODD):
        return False
    outside = re.sub(r"\[[^\]]*\]", "\0", bare)
    repeats = sum(outside.count(sign) for sign in "*+?{")
    return (
        outside.count("(") <= _MAX_GROUPS and repeats <= _MAX_REPEATS and not re.search(r"\)[*+?{]", outside)
    )


def spans(pattern: str, line: str, *, ignore_case: bool) -> Spans:
    """The places in a line that a pattern matches."""
    found = marker(pattern, ignore_case)
    if found is None or len(line) > MAX_LINE_CHARS:
        return []
    places: Spans = []
    for match in found.finditer(line):
        if match.end() > match.start():
            places.append(match.span())
        if len(places) == MAX_SPANS:
            break
    return places
