"""Texts for the model from what language servers answer: diagnostics, places, symbols."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tau.backends.lsp.pool import FileReport
from tau.backends.lsp.protocol import SYMBOL_KINDS, Diagnostic, Location, TextIndex, column_of, from_uri
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened
from tau.coding.files.paths import shown
from tau.coding.output import DiagnosticRow

MAX_MESSAGES = 50
MAX_WITH_CONTEXT = 50
MAX_SYMBOLS = 200
MAX_LINE_CHARS = 300
MAX_CANDIDATES = 20


def rows_of(
    path: Path, cwd: Path, found: Iterable[Diagnostic], new: Callable[[Diagnostic], bool] = lambda each: False
) -> list[DiagnosticRow]:
    return [
        DiagnosticRow(
            path=shown(path, cwd),
            line=each.range.start.line + 1,
            column=each.range.start.character + 1,
            level=each.level,
            message=each.text,
            tag=each.tag,
            is_new=new(each),
        )
        for each in found
        if each.level != "hint"
    ]


def count_levels(rows: Sequence[DiagnosticRow]) -> str:
    """`2 errors, 1 warning`."""
    counts = {level: sum(row.level == level for row in rows) for level in ("error", "warning", "info")}
    return ", ".join(
        f"{count} info" if level == "info" else counted(count, level)
        for level, count in counts.items()
        if count
    )


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def row_lines(rows: Sequence[DiagnosticRow], most: int = MAX_MESSAGES) -> list[str]:
    lines, last = [], ""
    for row in rows[:most]:
        if row.path != last:
            lines.append(row.path)
            last = row.path
        mark = "new " if row.is_new else ""
        tag = f" [{row.tag}]" if row.tag else ""
        lines.append(f"  {row.line}:{row.column} {mark}{row.level}: {row.message}{tag}")
    if len(rows) > most:
        lines.append(f"[{len(rows) - most} more]")
    return lines


def report_notes(report: FileReport, wait_s: float) -> list[str]:
    return [
        *(f"no answer from {name} in {wait_s:g} s" for name in report.silent),
        *report.failed,
    ]


def find_column(line: str, number: int, symbol: str | None) -> int:
    """The index of a symbol in its line. Raises ToolError with the candidates if it is not clear."""
    if not symbol:
        return len(line) - len(line.lstrip())
    name, mark, which = symbol.rpartition("#")
    if not mark or not which.isdigit() or not name:
        name, which = symbol, ""
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    attempts = ((word, 0), (re.escape(name), 0), (word, re.IGNORECASE), (re.escape(name), re.IGNORECASE))
    starts: list[int] = []
    for pattern, flags in attempts:
        starts = [match.start() for match in re.finditer(pattern, line, flags)]
        if starts:
            break
    if not starts:
        words = list(dict.fromkeys(re.findall(r"[^\W\d]\w*", line)))[:MAX_CANDIDATES]
        there = f"; there are: {', '.join(words)}" if words else ", which has no names"
        raise ToolError(f'There is no "{name}" on line {number}{there}.')
    if which:
        if not 1 <= int(which) <= len(starts):
            raise ToolError(f'"{name}" occurs {len(starts)} times on line {number}, so there is no #{which}.')
        return starts[int(which) - 1]
    if len(starts) > 1:
        places = ", ".join(
            f"{name}#{at + 1} at column {start + 1}" for at, start in enumerate(starts[:MAX_CANDIDATES])
        )
        raise ToolError(f'"{name}" occurs {len(starts)} times on line {number}; name one: {places}.')
    return starts[0]


class PlaceTexts:
    """Shows places with their lines, of files that the call may read."""

    def __init__(self, cwd: Path, may_read: Callable[[Path], bool], encoding: str) -> None:
        self._cwd, self._may_read, self._encoding = cwd, may_read, encoding
        self._texts: dict[Path, TextIndex | None] = {}

    def place(self, location: Location) -> str:
        path = from_uri(location.uri)
        if path is None:
            return clean_line(location.uri)
        line, start = self._line(path, location.range.start.line), location.range.start
        column = start.character if line is None else column_of(line, start.character, self._encoding)
        return f"{shown(path, self._cwd)}:{start.line + 1}:{column + 1}"

    def lines(self, location: Location, around: int = 1) -> list[str]:
        path, at = from_uri(location.uri), location.range.start.line
        numbered = (
            (number, None if path is None else self._line(path, number))
            for number in range(at - around, at + around + 1)
        )
        return [
            f"  {number + 1}:{shortened(text, MAX_LINE_CHARS)}"
            for number, text in numbered
            if text is not None and number >= 0
        ]

    def _line(self, path: Path, number: int) -> str | None:
        if path not in self._texts:
            self._texts[path] = None
            if len(self._texts) <= 500 and self._may_read(path):
                try:
                    if path.is_file() and path.stat().st_size < 4_000_000:
                        self._texts[path] = TextIndex(path.read_text("utf-8", "replace"), self._encoding)
                except OSError:
                    pass
        index = self._texts[path]
        return None if index is None or number >= len(index.starts) else index.line(number)


def location_text(kind: str, found: Sequence[Location], texts: PlaceTexts, *, around: int = 1) -> str:
    """Reads files: call it in a thread."""
    if not found:
        return f"No {kind} found"
    lines = [f"Found {counted(len(found), kind)}:"]
    for location in found[:MAX_WITH_CONTEXT]:
        lines += [texts.place(location), *texts.lines(location, around)]
    rest = found[MAX_WITH_CONTEXT:]
    lines += [texts.place(location) for location in rest]
    if rest:
        lines.append(f"... {counted(len(rest), f'additional {kind}')} shown without context")
    return "\n".join(lines)


def kind_name(kind: Any) -> str:
    return SYMBOL_KINDS[kind] if isinstance(kind, int) and 0 <= kind < len(SYMBOL_KINDS) else "symbol"


def document_symbols(rows: Any, depth: int = 0, left: list[int] | None = None) -> list[str]:
    """Symbols of a file, nested ones indented; whichever of both shapes they have."""
    left = [1_000] if left is None else left
    lines: list[str] = []
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or depth > 20:
            continue
        left[0] -= 1
        if left[0] < 0:
            break
        span = row.get("selectionRange") or row.get("range") or (row.get("location") or {}).get("range") or {}
        line = (span.get("start") or {}).get("line", 0) + 1
        name = shortened(clean_line(str(row.get("name"))), 200)
        lines.append(f"{'  ' * depth}{kind_name(row.get('kind'))} {name} @ line {line}")
        lines += document_symbols(row.get("children"), depth + 1, left)
    return lines
