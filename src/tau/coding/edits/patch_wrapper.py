"""Strip what models wrap around a patch: code fences, heredocs, stray carriage returns."""

import re
from collections.abc import Callable

_HEREDOC = re.compile(r"(?:(?:apply_patch|patch|cat|git apply)\b[^<&;]*)?<<-?\s*(['\"]?)(\w+)\1[^&;]*$")
_FENCE = re.compile(r"\s*(?:```+|~~~+)[\w+-]*\s*$")


def unwrapped(text: str, is_mark: Callable[[str], bool]) -> list[str]:
    """Return the lines of a patch without its wrapping.

    If every marker line of the patch ends with a carriage return, strip it from all lines: it is an artifact
    of transport. If only quoted lines have it, it belongs to the files.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    marks = [line for line in lines if is_mark(line)]
    if marks and all(line.endswith("\r") for line in marks):
        lines = [line.removesuffix("\r") for line in lines]
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    if start < end and _FENCE.match(lines[start]):
        start += 1
        end = _without_last(lines, start, end, _FENCE.match)
    heredoc = _HEREDOC.match(lines[start].strip()) if start < end else None
    if heredoc is not None:
        start += 1
        word = heredoc[2]
        end = _without_last(lines, start, end, lambda line: line.strip() == word)
    # Blank the lines before instead of dropping them, so line numbers in errors stay right.
    return [""] * start + lines[start:end]


def _without_last(lines: list[str], start: int, end: int, closes: Callable[[str], object]) -> int:
    """Return the end without a closing line of the wrapping, if there is one."""
    last = end
    while last > start and not lines[last - 1].strip():
        last -= 1
    return last - 1 if last > start and closes(lines[last - 1]) else end
