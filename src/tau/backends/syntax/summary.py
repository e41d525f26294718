"""Summarizes a file: keeps declarations and folds bodies, long literals and long comments."""

import heapq
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tau.backends.syntax.fold_finder import Fold, find_folds
from tau.backends.syntax.fold_rules import FOLDS
from tau.backends.syntax.languages import MAX_SUMMARY_BYTES, MAX_SUMMARY_LINES, detect_language
from tau.backends.syntax.trees import parse

MIN_SHOWN_LINES = 10  # fewer lines are not a useful summary
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_CLOSING = r"[\]})]+[;,]?"


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """Line counts. `unfold_until`: unfold up to this size; `unfold_limit`: never exceed this size."""

    min_body_lines: int = 4
    min_comment_lines: int = 6
    min_total_lines: int = 100
    unfold_until: int = 50
    unfold_limit: int = 100
    prose: bool = False


class SummarySegment(Struct, frozen=True):
    """Lines `first` to `last` (1-based): shown, folded, or opening and closing line merged into one row."""

    kind: Literal["lines", "elided", "merged"]
    first: int
    last: int


class CodeSummary(Struct, frozen=True, kw_only=True):
    """`kept` covers the whole file in order; `elided_spans` are the lines not shown at all."""

    lines_total: int
    kept: list[SummarySegment]
    elided_spans: list[tuple[int, int]]
    elided_lines: int


def summarize(path: str, text: str, options: SummaryOptions | None = None) -> CodeSummary | None:
    """None if the language is unknown, the file is too short, too large or broken, or nothing folds."""
    options = options or SummaryOptions()
    language = summary_language(path, text, options)
    root = None if language is None else parse(text, language)
    if language is None or root is None:
        return None
    rows = _rows(text)
    folds = find_folds(root, rows, FOLDS[language], options.min_body_lines, options.min_comment_lines)
    closed = _choose_folds(_nest(folds), len(rows), options, force=not FOLDS[language].data)
    elided = sum(last - first + 1 for first, last in closed)
    if not closed or len(rows) - elided < MIN_SHOWN_LINES:
        return None
    return CodeSummary(
        lines_total=len(rows),
        kept=list(_segments(closed, rows)),
        elided_spans=[(first + 1, last + 1) for first, last in closed],
        elided_lines=elided,
    )


def summary_language(path: str, text: str, options: SummaryOptions) -> str | None:
    """The language of a text that is worth parsing for a summary."""
    if len(text) > MAX_SUMMARY_BYTES or not options.min_total_lines <= len(_rows(text)) <= MAX_SUMMARY_LINES:
        return None
    if not text.isascii() and len(text.encode(errors="surrogatepass")) > MAX_SUMMARY_BYTES:
        return None
    language = detect_language(path, text)
    return language if language is not None and (options.prose or not FOLDS[language].prose) else None


def render(summary: CodeSummary, text: str) -> str:
    """Render as plain text: `N:line`, `A-B:opening .. closing`, and `...` for folded lines."""
    rows = _rows(text)
    out: list[str] = []
    for segment in summary.kept:
        if segment.kind == "elided":
            out.append("...")
        elif segment.kind == "merged":
            out.append(f"{segment.first}-{segment.last}:{merged_row(rows, segment)}")
        else:
            out += (f"{number}:{rows[number - 1]}" for number in range(segment.first, segment.last + 1))
    return "\n".join(out)


def merged_row(rows: Sequence[str], segment: SummarySegment) -> str:
    return f"{rows[segment.first - 1].rstrip()} .. {rows[segment.last - 1].strip()}"


def _rows(text: str) -> list[str]:
    newline = "\n" if "\n" in text else "\r"
    rows = text.split(newline)
    if not rows[-1]:
        rows.pop()
    return [row.removesuffix("\r") for row in rows] if newline == "\n" and "\r" in text else rows


class _FoldNode:
    """A fold with its nested folds."""

    __slots__ = ("first", "inner", "last")

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.inner: list[_FoldNode] = []

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def cost(self) -> int:
        """How many lines unfolding it shows, with its nested folds closed."""
        return self.size - sum(fold.size for fold in self.inner)


def _nest(folds: list[Fold]) -> list[_FoldNode]:
    """Return the outermost folds; partial overlaps are dropped."""
    outer: list[_FoldNode] = []
    path: list[_FoldNode] = []
    for first, last in sorted(set(folds), key=lambda fold: (fold[0], -fold[1])):
        while path and path[-1].last < first:
            path.pop()
        if path and last > path[-1].last:
            continue
        fold = _FoldNode(first, last)
        (path[-1].inner if path else outer).append(fold)
        path.append(fold)
    return outer


def _choose_folds(outer: list[_FoldNode], total: int, options: SummaryOptions, *, force: bool) -> list[Fold]:
    """Return the folds that remain after opening the cheapest ones that fit.

    With `force`, open a function that spans the whole file, unless its contents are most of the file.
    """
    shown = total - sum(fold.size for fold in outer)
    heap = [(fold.cost, fold.first, fold) for fold in outer]
    heapq.heapify(heap)
    while heap and shown < max(options.unfold_until, MIN_SHOWN_LINES):
        cost, _, fold = heap[0]
        if shown + cost > options.unfold_limit and not (
            force and fold.inner and shown < MIN_SHOWN_LINES and shown + cost <= total // 2
        ):
            break
        heapq.heappop(heap)
        shown += cost
        for inner in fold.inner:
            heapq.heappush(heap, (inner.cost, inner.first, inner))
    return sorted((fold.first, fold.last) for _, _, fold in heap)


def _segments(closed: list[Fold], rows: Sequence[str]) -> Iterator[SummarySegment]:
    at = 0
    for first, last in closed:
        merged = at <= first - 1 and _can_merge(rows, first - 1, last + 1)
        if first - 1 - merged >= at:
            yield SummarySegment("lines", at + 1, first - merged)
        if merged:
            yield SummarySegment("merged", first, last + 2)
        else:
            yield SummarySegment("elided", first + 1, last + 1)
        at = last + 1 + merged
    if at < len(rows):
        yield SummarySegment("lines", at + 1, len(rows))


def _can_merge(rows: Sequence[str], opening: int, closing: int) -> bool:
    if opening < 0 or closing >= len(rows):
        return False
    end = rows[closing].strip()
    wanted = _PAIRS.get(rows[opening].rstrip()[-1:], "")
    return bool(wanted) and end.startswith(wanted) and re.fullmatch(_CLOSING, end) is not None
