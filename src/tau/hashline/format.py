"""Formats and parses the `¶PATH#TAG` headers and `LINE:TEXT` rows that patches refer to."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

FILE_MARK = "¶"
TAG_MARK = "#"
ROW_MARK = "+"
BYTE_ORDER_MARK = "\ufeff"

_TAG = re.compile("[0-9A-Fa-f]{4}")
_NOISE = re.compile(r"(?:[*¶\s]|(?:Update|Add)[ ]+File:)+")
_NUMBERED = re.compile(r"[ *]?([0-9]{1,9}):")


class Header(Struct, frozen=True):
    """`tag` is None unless it has four hexadecimal digits."""

    path: str
    tag: str | None


def format_header(path: str, tag: str | None) -> str:
    """The line above a file's rows; without a tag, patches cannot refer to them."""
    if _NOISE.match(path):
        path = f"./{path}"  # otherwise its beginning would be taken for noise
    return f"{FILE_MARK}{path}" if tag is None else f"{FILE_MARK}{path}{TAG_MARK}{tag}"


def format_row(number: int, text: str, mark: str = "") -> str:
    return f"{mark}{number}:{text}"


def format_rows(first: int, rows: Iterable[str]) -> Iterator[str]:
    """Rows as `read` shows them, starting with line `first`."""
    return (f"{number}:{row}" for number, row in enumerate(rows, first))


def parse_header(line: str) -> Header | None:
    """Parse a section's header; None if the line is not one.

    Accepts `[PATH#TAG]` too, and drops words of other patch formats around the path.
    """
    line = line.rstrip()
    if line.startswith(FILE_MARK):
        noise = _NOISE.match(line)
        body = line[noise.end() if noise else 0 :].rstrip("*").rstrip()
        return _header(body)
    if line.startswith("[") and line.endswith("]"):
        header = _header(line[1:-1].strip())
        return header if header.tag is not None else None
    return None


def parse_listing(line: str) -> Header | None:
    """Parse the `# PATH#TAG` heading of search results."""
    if not line.startswith("# "):
        return None
    header = _header(line[2:].strip())
    return header if header.tag is not None and header.path else None


def _header(body: str) -> Header:
    path, mark, tag = body.rpartition(TAG_MARK)
    tag = tag.strip()
    if mark and _TAG.fullmatch(tag):
        return Header(path.strip(), tag.upper())
    return Header(body, None)


def strip_numbers(rows: list[str]) -> list[str] | None:
    """Strip the `LINE:` prefixes; None unless all rows have one and the numbers are consecutive."""
    result = []
    expected: int | None = None
    for row in rows:
        match = _NUMBERED.match(row)
        if match is None or (expected is not None and int(match[1]) != expected):
            return None
        expected = int(match[1]) + 1
        result.append(row[match.end() :])
    return result or None


def strip_pasted(text: str) -> tuple[str, bool]:
    """Strip a header and line numbers copied from a listing, and return whether there were any.

    Numbers are stripped only if every line has one and they are consecutive.
    """
    first, newline, rest = text.partition("\n")
    header = parse_header(first) if first.startswith((FILE_MARK, "[")) else None
    had_header = header is not None and header.tag is not None
    if not had_header and _NUMBERED.match(first) is None:
        return text, False
    body = rest if had_header else text
    lines = body.split("\n")
    final = "\n" if len(lines) > 1 and lines[-1] == "" else ""
    if final:
        lines.pop()
    stripped = strip_numbers(lines) if had_header or len(lines) > 1 else None
    if stripped is not None:
        return "\n".join(stripped) + final, True
    return (body, True) if had_header and newline else (text, False)
