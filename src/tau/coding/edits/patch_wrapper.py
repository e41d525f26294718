"""What models put around a patch: code fences, here-documents, carriage returns of the way it came."""

import re
from collections.abc import Callable

_HEREDOC = re.compile(r"(?:(?:apply_patch|patch|cat|git apply)\b[^<&;]*)?<<-?\s*(['\"]?)(\w+)\1[^&;]*$")
_FENCE = re.compile(r"\s*(?:```+|~~~+)[\w+-]*\s*$")


def unwrapped(text: str, is_mark: Callable[[str], bool]) -> list[str]:
    """The lines of a patch without its wrapping.

    If every line that is part of the patch language ends with a carriage return, all lines lose theirs: it
    comes from the way. If only quoted lines have it, it belongs to the files.
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
    # The lines before are kept as empty ones, so that errors can tell their number.
    return [""] * start + lines[start:end]


def _without_last(lines: list[str], start: int, end: int, closes: Callable[[str], object]) -> int:
    """The end without a last line that closes the wrapping, if there is one."""
    last = end
    while last > start and not lines[last - 1].strip():
        last -= 1
    return last - 1 if last > start and closes(lines[last - 1]) else end
