"""Ambiguous line beginnings: they are not shown until more of the line arrives."""

import re
from functools import cache

_MARKS = r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*"


@cache
def _undecided() -> re.Pattern[str]:
    return re.compile(
        rf"{_MARKS}(?:"
        r"[-+*=_#|:~`>\s]*"  # markers of lists, headings, rules, tables, fences
        r"|\d{1,9}[.)]?"  # the number of an item
        r"|\[[ xX]?\]?\s*"  # a task's checkbox
        r"|(?:`{3}|~{3}).*"  # a fence, until its line is complete
        r"|\[[^\]]*\]:.*"  # a link definition
        r")"
    )


def is_undecided(line: str) -> bool:
    """Whether a line beginning is still ambiguous."""
    return len(line) <= 200 and _undecided().fullmatch(line) is not None
