"""Beginnings of lines that say nothing yet: they are not shown before more of the line has come."""

import re
from functools import cache

_MARKS = r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*"


@cache
def _undecided() -> re.Pattern[str]:
    return re.compile(
        rf"{_MARKS}(?:"
        r"[-+*=_#|:~`>\s]*"  # marks of lists, headings, rules, tables, fences
        r"|\d{1,9}[.)]?"  # the number of an item
        r"|\[[ xX]?\]?\s*"  # the box of a task
        r"|(?:`{3}|~{3}).*"  # a fence, until its line is complete
        r"|\[[^\]]*\]:.*"  # a link definition
        r")"
    )


def is_undecided(line: str) -> bool:
    """Whether the beginning of a line could still become almost anything."""
    return len(line) <= 200 and _undecided().fullmatch(line) is not None
