"""How files are shown so that they can be patched: `¶PATH#TAG` headers and `LINE:TEXT` rows, and back."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

FILE_MARK = "¶"
TAG_MARK = "#"
ROW_MARK = "+"
RANGE_MARK = ".."
BYTE_ORDER_MARK = "\ufeff"

_TAG = re.compile("[0-9A-Fa-f]{4}")
_NOISE = re.compile(r"(?:[*¶\s]|(?:Update|Add)[ ]+File:)+")
_NUMBERED = re.compile(r"[ *]?([0-9]{1,9}):")


class Header(Struct, frozen=True):
    """`tag` is None when there is none of four hexadecimal digits."""

    path: str
    tag: str | None


def format_header(path: str, tag: str | None) -> str:
    """The line above a file's rows; without a tag the file is shown but cannot be patched by it."""
    return f"{FILE_MARK}{path}" if tag is None else f"{FILE_MARK}{path}{TAG_MARK}{tag}"


def format_row(number: int, text: str, mark: str = "") -> str:
    return f"{mark}{number}:{text}"


def format_rows(first: int, rows: Iterable[str]) -> Iterator[str]:
    """Rows as `read` shows them, the first being line `first`."""
    return (f"{number}:{row}" for number, row in enumerate(rows, first))


def parse_header(line: str) -> Header | None:
    """A section's header, None if the line is none.

    `[PATH#TAG]` is the other spelling, and words of other patch formats around the path are dropped.
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
    """The `# PATH#TAG` heading that search results carry."""
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
    """The rows without their `LINE:` prefixes; None unless all have one and the numbers follow each other."""
    if not rows:
        return None
    result = []
    expected: int | None = None
    for row in rows:
        found = _NUMBERED.match(row)
        if found is None:
            return None
        number = int(found[1])
        if expected is not None and number != expected:
            return None
        expected = number + 1
        result.append(row[found.end() :])
    return result


def strip_pasted(text: str) -> tuple[str, bool]:
    """A file's content without the header and line numbers that came along from a listing, if they did.

    Numbers go only when every line has one, each one higher than the last: anything else is content.
    """
    first, newline, rest = text.partition("\n")
    header = parse_header(first) if first.startswith((FILE_MARK, "[")) else None
    had_header = header is not None and header.tag is not None
    body = rest if had_header else text
    lines = body.split("\n")
    final = "\n" if len(lines) > 1 and lines[-1] == "" else ""
    if final:
        lines.pop()
    stripped = strip_numbers(lines) if had_header or len(lines) > 1 else None
    if stripped is not None:
        return "\n".join(stripped) + final, True
    return (body, True) if had_header and newline else (text, False)
