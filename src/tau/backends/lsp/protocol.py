"""The parts of the Language Server Protocol that tau reads, and positions as servers count them."""

import re
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec
from msgspec import Struct

from tau.base.errors import TauError
from tau.base.text import clean_line, shortened

T = TypeVar("T")
SEVERITIES = ("", "error", "warning", "info", "hint")
MAX_MESSAGE_CHARS = 600
_LINE_END = r"\r\n|\n|\r"

SYMBOL_KINDS = msgspec.json.decode(Path(__file__).with_name("symbol_kinds.json").read_bytes(), type=list[str])


class LspError(TauError):
    """A server could not answer."""


class TextPosition(Struct, frozen=True, order=True):
    line: int
    character: int


class Range(Struct, frozen=True):
    start: TextPosition
    end: TextPosition


class Location(Struct, frozen=True):
    uri: str
    range: Range


class TextEdit(Struct, frozen=True, rename="camel"):
    range: Range
    new_text: str


class Diagnostic(Struct, frozen=True, rename="camel"):
    range: Range
    message: Any = ""
    severity: int | None = 1
    code: Any = None
    source: str | None = None
    data: Any = None

    @property
    def level(self) -> str:
        known = isinstance(self.severity, int) and 0 < self.severity < len(SEVERITIES)
        return SEVERITIES[self.severity or 1] if known else "error"

    @property
    def text(self) -> str:
        """Its message on one line; newer servers may send markup."""
        message = self.message.get("value", "") if isinstance(self.message, dict) else self.message
        return shortened(clean_line(str(message)), MAX_MESSAGE_CHARS)

    @property
    def tag(self) -> str:
        code = self.code.get("value") if isinstance(self.code, dict) else self.code
        words = (self.source, code if isinstance(code, str | int) else None)
        return shortened(clean_line(" ".join(str(word) for word in words if word not in (None, ""))), 80)

    @property
    def identity(self) -> tuple[str, str, str]:
        """The same after lines above it have moved."""
        return self.level, self.text, self.tag


def convert(value: Any, type: type[T], what: str) -> T:
    """Raises LspError if a server sent something else."""
    try:
        return msgspec.convert(value, type)
    except (msgspec.ValidationError, RecursionError, ValueError) as error:
        raise LspError(
            f"the server sent a malformed {what}: {shortened(clean_line(str(error)), 200)}"
        ) from None


def to_uri(path: Path) -> str:
    return "file://" + quote(str(path), safe="/")


def from_uri(uri: str) -> Path | None:
    """None if it is not a local file."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return Path(path) if path.startswith("/") and "\0" not in path else None


class TextIndex:
    """A text as lines; converts between offsets, and positions in an encoding."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self.encoding = encoding
        self.starts = [0, *(match.end() for match in re.finditer(_LINE_END, text))]

    def line(self, number: int) -> str:
        """A line without its end; empty if there is none."""
        if not 0 <= number < len(self.starts):
            return ""
        start = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def offset(self, position: TextPosition) -> int:
        """Where a position is; beyond a line's end is its end, beyond the text is the text's end."""
        if position.line >= len(self.starts):
            return len(self.text)
        line = self.line(max(position.line, 0))
        return self.starts[max(position.line, 0)] + column_of(line, position.character, self.encoding)


def column_of(line: str, character: int, encoding: str) -> int:
    """The index in a line of a server's column."""
    if character <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    data = line.encode(_codec(encoding), "surrogatepass")
    size = character * (2 if encoding == "utf-16" else 1)
    return len(data[:size].decode(_codec(encoding), "ignore"))


def character_of(line: str, column: int, encoding: str) -> int:
    """A server's column for an index in a line."""
    if encoding == "utf-32" or line.isascii():
        return column
    size = len(line[:column].encode(_codec(encoding), "surrogatepass"))
    return size // 2 if encoding == "utf-16" else size


def _codec(encoding: str) -> str:
    return "utf-16-le" if encoding == "utf-16" else "utf-8"


def locations(value: object) -> list[Location]:
    """A location, several, or links to them. Raises LspError."""
    rows = value if isinstance(value, list) else [] if value is None else [value]
    found = []
    for row in rows:
        if isinstance(row, dict) and "targetUri" in row:
            target = row.get("targetSelectionRange") or row.get("targetRange")
            row = {"uri": row["targetUri"], "range": target}
        found.append(convert(row, Location, "location"))
    return list(dict.fromkeys(found))


def hover_text(value: Any) -> str:
    """The plain text of a hover answer, whichever of its shapes it has."""
    contents = value.get("contents") if isinstance(value, dict) else value
    parts = contents if isinstance(contents, list) else [contents]
    texts = (part.get("value", "") if isinstance(part, dict) else part for part in parts)
    whole = "\n\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
    return re.sub(r"!\[[^]]*\]\(data:[^)]*\)\s*", "", whole)
