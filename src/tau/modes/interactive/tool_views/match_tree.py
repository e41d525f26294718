"""Search matches as a tree: files, counts, and matching lines with highlights."""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from tau.base.text import quantity
from tau.modes.interactive.tool_views.body_parts import MAX_ROWS, LazyRows, more_row
from tau.modes.interactive.tool_views.labels import short_path
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap_hard

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
COLLAPSED_ROWS = 16
_MAX_PARSED_LINES = 4 * MAX_ROWS
Mark = Callable[[str], Spans]


@lru_cache(maxsize=32)
def compile_marker(pattern: str, ignore_case: bool) -> "re.Pattern[str] | None":
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
    compiled = compile_marker(pattern, ignore_case)
    if compiled is None or len(line) > MAX_LINE_CHARS:
        return []
    places: Spans = []
    for match in compiled.finditer(line):
        if match.end() > match.start():
            places.append(match.span())
        if len(places) == MAX_SPANS:
            break
    return places


class MatchLine(NamedTuple):
    number: str
    text: str
    is_match: bool


class FileMatches(NamedTuple):
    name: str
    lines: Sequence[MatchLine]

    @property
    def matched(self) -> int:
        return sum(line.is_match for line in self.lines)


@cache
def _row_pattern() -> re.Pattern[str]:
    return re.compile(r"([* ])\s*(\d+)[│|:](.*)", re.DOTALL)


def parse_matches(display: str) -> list[FileMatches]:
    """The files of a page of matches, parsed from the tool's display text."""
    files: list[FileMatches] = []
    lines: list[MatchLine] = []
    for text in display.split("\n", _MAX_PARSED_LINES)[:_MAX_PARSED_LINES]:
        if text.startswith("# "):
            lines = []
            files.append(FileMatches(text[2:], lines))
        elif (match := _row_pattern().fullmatch(text)) is not None and files:
            lines.append(MatchLine(match[2], match[3], match[1] == "*"))
    return files


def tree(view: ToolCallView, theme: Theme, files: Sequence[FileMatches], mark: Mark) -> Component:
    """Collapsed: some matching lines per file. Expanded: all rows, with context."""
    return LazyRows(theme, lambda width: _paint(view, theme, files, mark, width))


def _paint(
    view: ToolCallView, theme: Theme, files: Sequence[FileMatches], mark: Mark, width: int
) -> list[str]:
    limit = MAX_ROWS if view.expanded else COLLAPSED_ROWS
    each = _lines_each(files, limit)
    rows: list[str] = []
    for number, file in enumerate(files):
        block = [_heading(theme, file, short_path(file.name, view.cwd), width)]
        shown = file.lines if view.expanded else [line for line in file.lines if line.is_match][:each]
        digits = max((len(line.number) for line in shown), default=1)
        for line in shown:
            block += _line_rows(theme, line, mark, digits, width, wrapped=view.expanded)
        if not view.expanded and file.matched > len(shown) and each:
            block.append(
                "    " * (not theme.linear) + more_row(theme, file.matched - each, "more match", width)
            )
        if rows and len(rows) + len(block) > limit:
            rows.append(more_row(theme, len(files) - number, "more file", width))
            break
        rows += block[:limit]
    return [truncate(row, width, theme.symbols.ellipsis) for row in rows]


def _lines_each(files: Sequence[FileMatches], limit: int) -> int:
    """How many matches per file fit if all files are to be named."""
    for each in range(limit, 0, -1):
        rows = sum(1 + min(file.matched, each) + (file.matched > each) for file in files)
        if rows <= limit:
            return each
    return 0


def _heading(theme: Theme, file: FileMatches, name: str, width: int) -> str:
    count = file.matched
    if theme.linear:
        return truncate(f"{name}, {quantity(count, 'match', 'matches')}", width)
    return truncate(f"{theme['accent'](name)}  {theme['muted'](str(count))}", width, theme.symbols.ellipsis)


def _line_rows(
    theme: Theme, line: MatchLine, mark: Mark, digits: int, width: int, *, wrapped: bool
) -> list[str]:
    text = clean(line.text).replace("\n", " ")
    if theme.linear:
        words = f"line {line.number}: {text}"
        return wrap_hard(words, width)
    styled = _highlight(theme, text, mark(text)) if line.is_match else theme["dim"](text)
    gutter = f"  {line.number:>{digits}}  "
    if width - len(gutter) < 8:
        gutter = ""
    room = max(width - len(gutter), 1)
    rows = wrap_hard(styled, room) if wrapped else [truncate(styled, room, theme.symbols.ellipsis)]
    first = theme["diffLineNumber"](gutter if text else gutter.rstrip())
    return [first + rows[0], *[" " * len(gutter) + row for row in rows[1:]]]


def _highlight(theme: Theme, text: str, places: Spans) -> str:
    out: list[str] = []
    at = 0
    for start, end in places:
        out += (theme["text"](text[at:start]), theme["matched"](text[start:end]))
        at = end
    return "".join(out) + theme["text"](text[at:])
