"""Markdown output of the converters: spans, blocks, list items and tables, with minimal escaping."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from tau.coding.readers.documents.limits import MAX_TEXT_CHARS, TextLimitReached

# Only what would parse as markup: `snake_case` and `a < b` stay unescaped.
_INLINE = re.compile(r"[*`]|\\(?=[!-/:-@\[-`{-~])|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|\[(?=[^\]\n]{0,200}\]\()")
_BLOCK_START = re.compile(r"(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|={3,}$|-{3,}$|~~~)")
_NUMBER_START = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_NEWLINES = re.compile(r"\n{2,}")

MAX_SPANS = 20_000


class TextRun(Struct, frozen=True, gc=False):
    """Text with uniform formatting. `raw` is already Markdown and is not escaped."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""
    raw: bool = False


def clean(text: str) -> str:
    """Strip control characters and normalize line endings."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n").replace("\x0c", "\n")
    return re.sub("[\ud800-\udfff]", "\ufffd", _CONTROL.sub("", text))


def escape(text: str) -> str:
    """Escape inline markup."""
    return _INLINE.sub(r"\\\g<0>", text)


def escape_start(text: str) -> str:
    """Escape a paragraph start that would make it a heading, list or quote."""
    if _BLOCK_START.match(text):
        return "\\" + text
    return _NUMBER_START.sub(r"\1\\\2", text, count=1) if text[:1].isdigit() else text


def inline(spans: Iterable[TextRun]) -> str:
    """Render spans as Markdown; adjacent spans with equal formatting share their marks."""
    groups = groupby((span for span in spans if span.text), _format_of)
    return "".join(
        _render(TextRun("".join(span.text for span in group), *format)) for format, group in groups
    )


def pack(spans: list[TextRun]) -> None:
    """Compact the span list of a very long paragraph."""
    if len(spans) >= MAX_SPANS:
        spans[:] = [TextRun(inline(spans), raw=True)]


def plain_text(spans: Iterable[TextRun]) -> str:
    return "".join(span.text for span in spans)


def heading(level: int, text: str) -> str:
    return f"{'#' * min(max(level, 1), 6)} {one_line(text)}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def link(text: str, target: str) -> str:
    target = clean(target).strip().replace("\n", "")
    if not target:
        return text
    if re.search(r"[\s()<>]", target):
        target = "<" + target.replace("<", "%3C").replace(">", "%3E") + ">"
    return f"[{text or target}]({target})"


def image(name: str) -> str:
    return f"[image: {one_line(clean(name)).replace('[', '(').replace(']', ')') or 'unnamed'}]"


def cell(text: str) -> str:
    """Format a table cell: one line, with bars escaped."""
    return _NEWLINES.sub("\n", text.strip()).replace("|", "\\|").replace("\n", "<br>")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of Markdown as a table; the first row is the header. Short rows are padded."""
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        return ""
    lines = [
        "| " + " | ".join([cell(text) for text in row] + [""] * (width - len(row))) + " |" for row in rows
    ]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


class MarkdownWriter:
    """Collects a document's blocks up to a limit; beyond it, `add` raises TextLimitReached."""

    def __init__(self, max_chars: int = MAX_TEXT_CHARS) -> None:
        self._parts: list[str] = []
        self._room = max_chars
        self._in_list = False

    def add(self, text: str) -> None:
        """Add a block, separated by blank lines."""
        if text.strip():
            self._write(text.strip("\n"), "\n\n")
            self._in_list = False

    def item(self, level: int, marker: str, text: str) -> None:
        """Add a list item; consecutive items have no blank line between them."""
        indent = "   " * min(max(level, 0), 12)
        text = text.strip().replace("\n", f"\n{indent}{' ' * (len(marker) + 1)}")
        self._write(f"{indent}{marker} {text}", "\n" if self._in_list else "\n\n")
        self._in_list = True

    def text(self) -> str:
        return "".join(self._parts) + ("\n" if self._parts else "")

    def note(self, text: str) -> None:
        """Add a notice, regardless of the limit."""
        self._room = max(self._room, 1_000)
        self.add(f"[{text}]")

    def _write(self, text: str, separator: str) -> None:
        if self._parts:
            text = separator + text
        if len(text) > self._room:
            self._parts.append(text[: self._room])
            self._room = 0
            raise TextLimitReached
        self._room -= len(text)
        self._parts.append(text)


def _format_of(span: TextRun) -> tuple[bool, bool, bool, bool, str, bool]:
    return (span.bold, span.italic, span.code, span.strike, span.link, span.raw)


def _render(span: TextRun) -> str:
    text = span.text
    bare = text.strip()
    if not bare:
        return text
    start = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    if span.raw:
        marked = bare
    elif span.code:
        marked = _code(bare)
    else:
        marked = escape(bare)
    if span.bold or span.italic:
        mark = "*" * (2 * span.bold + span.italic)
        marked = mark + marked.replace("\n", f"{mark}\n{mark}") + mark
    if span.strike:
        marked = f"~~{marked}~~"
    if span.link:
        marked = link(marked, span.link)
    return start + marked + end


def _code(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    tick = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{tick}{pad}{text}{pad}{tick}"
