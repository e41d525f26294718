"""Renders diffs: line numbers, markers, and changed words."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from tau.base.late import late
from tau.tui.component import CachedComponent
from tau.tui.style import Style, Theme
from tau.tui.text.clean import clean
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap, wrap_hard
from tau.tui.widgets.diff_hunks import DiffHunk, DiffLine, clean_hunk, diff_texts, parse_unified_diff

difflib = late("difflib")

_MAX_LINES = 10_000
"""More lines than this are never shown."""
_MAX_ROWS = 20_000
_MAX_LINE_CHARS = 1000
"""Words are not compared in longer lines."""
_MAX_WORDS = 200
_MAX_PAIRS = 400
_LEAST_LIKENESS = 0.4
"""Lines with less in common are shown as fully changed."""
_WORD = r"\w+|\s+|[^\w\s]"
_LEAST_TEXT_WIDTH = 8


class DiffView(CachedComponent):
    """Shows a diff of two texts, of hunks, or of unified diff text."""

    def __init__(
        self,
        theme: Theme,
        old_text: str | None = None,
        new_text: str | None = None,
        *,
        diff: str | Sequence[DiffHunk] | None = None,
        max_rows: int | None = None,
        context: int = 3,
    ) -> None:
        self._theme = theme
        self._max_rows = max_rows
        self._is_expanded = False
        self._hunks: Sequence[DiffHunk] = ()
        if diff is not None:
            self.set_diff(diff)
        else:
            self.set_texts(old_text or "", new_text or "", context)

    def set_texts(self, old_text: str, new_text: str, context: int = 3) -> None:
        """Show a different pair of texts."""
        self._set(diff_texts(clean(old_text), clean(new_text), context))

    def set_diff(self, diff: str | Sequence[DiffHunk]) -> None:
        """Show a different diff, given as hunks or unified diff text."""
        self._set(parse_unified_diff(diff) if isinstance(diff, str) else [clean_hunk(hunk) for hunk in diff])

    @property
    def is_expanded(self) -> bool:
        """Whether all rows are shown, however many."""
        return self._is_expanded

    @is_expanded.setter
    def is_expanded(self, value: bool) -> None:
        if value != self._is_expanded:
            self._is_expanded = value
            self.invalidate()

    def _render_rows(self, width: int) -> Sequence[str]:
        limit = None if self._is_expanded else self._max_rows
        return _Painter(self._theme, width).rows(self._hunks, limit)

    def _set(self, hunks: Sequence[DiffHunk]) -> None:
        self._hunks = hunks
        self.invalidate()


class _Painter:
    """Paints hunks at one width."""

    def __init__(self, theme: Theme, width: int) -> None:
        self._theme = theme
        self._width = width
        self._number_width = 0
        self._pairs_left = _MAX_PAIRS

    def rows(self, hunks: Sequence[DiffHunk], max_rows: int | None) -> list[str]:
        """Render the hunks, up to `max_rows` with a note about the lines left out."""
        total = sum([len(hunk.lines) for hunk in hunks])
        numbers = [max(line.new_number or 0, line.old_number or 0) for hunk in hunks for line in hunk.lines]
        self._number_width = len(str(max(numbers))) if any(numbers) else 0
        out: list[str] = []
        shown = 0
        for rows, lines in islice(self._pieces(hunks), 2 * _MAX_LINES):
            limit = _MAX_ROWS if max_rows is None else max(max_rows, 1)
            if shown >= _MAX_LINES or len(out) + len(rows) + (shown + lines < total) > limit:
                if not out:
                    out += rows[: limit - 1]
                out.append(self._missing(total - shown))
                break
            out += rows
            shown += lines
        return out

    def _missing(self, lines: int) -> str:
        theme = self._theme
        text = f"{theme.symbols.ellipsis} {lines} more line{'' if lines == 1 else 's'}"
        return theme["muted"](truncate(text, self._width))

    def _pieces(self, hunks: Sequence[DiffHunk]) -> Iterator[tuple[list[str], int]]:
        """Yield groups of rows, and how many diff lines each shows."""
        theme = self._theme
        if not hunks:
            yield [theme["muted"](truncate("No differences.", self._width))], 0
        for at, hunk in enumerate(hunks):
            if hunk.path:
                yield [theme["strong"](truncate(hunk.path, self._width))], 0
            elif at or hunk.section:
                mark = "" if theme.linear else theme.symbols.ellipsis
                text = f"{mark} {hunk.section}".strip() if hunk.section else mark
                if text:
                    yield [theme["muted"](truncate(text, self._width))], 0
            yield from self._lines(hunk.lines)

    def _lines(self, lines: Sequence[DiffLine]) -> Iterator[tuple[list[str], int]]:
        at = 0
        while at < len(lines):
            end = at
            while end < len(lines) and lines[end].kind == "removed":
                end += 1
            middle = end
            while end < len(lines) and lines[end].kind == "added":
                end += 1
            if end == at:
                yield self._row(lines[at], self._plain(lines[at])), 1
                at += 1
                continue
            removed, added = lines[at:middle], lines[middle:end]
            old, new = self._compare(removed, added)
            for line, text in zip((*removed, *added), (*old, *new), strict=True):
                yield self._row(line, text), 1
            at = end

    def _compare(self, removed: Sequence[DiffLine], added: Sequence[DiffLine]) -> tuple[list[str], list[str]]:
        """Return the texts of replaced lines, with changed words marked."""
        theme = self._theme
        old = [theme["diffRemoved"](line.text) for line in removed]
        new = [theme["diffAdded"](line.text) for line in added]
        for at, (before, after) in enumerate(zip(removed, added, strict=False)):
            if self._pairs_left <= 0:
                break
            self._pairs_left -= 1
            words = changed_words(before.text, after.text)
            if words is not None:
                old[at] = _mark_ranges(before.text, words[0], theme["diffRemoved"], theme["diffRemovedWord"])
                new[at] = _mark_ranges(after.text, words[1], theme["diffAdded"], theme["diffAddedWord"])
        return old, new

    def _plain(self, line: DiffLine) -> str:
        if line.kind == "note":
            return self._theme["muted"](line.text)
        return self._theme["diffContext"](line.text)

    def _row(self, line: DiffLine, text: str) -> list[str]:
        if self._theme.linear:
            return wrap(_spoken(line, text), self._width)
        sign = {"added": "+", "removed": "-"}.get(line.kind, " ")
        style = self._theme[{"+": "diffAdded", "-": "diffRemoved"}.get(sign, "diffContext")]
        number = line.old_number if sign == "-" else line.new_number
        gutter = f"{'' if number is None else number:>{self._number_width}} " if self._number_width else ""
        if self._width - len(gutter) - 2 < _LEAST_TEXT_WIDTH:
            gutter = ""
        room = max(self._width - len(gutter) - 2, 1)
        if self._width < 3:
            return wrap_hard(f"{style(sign)}{text}", self._width)
        rows = [text] if visible_width(text) <= room else wrap_hard(text, room)
        first = f"{self._theme['diffLineNumber'](gutter)}{style(sign)} "
        blank = " " * (len(gutter) + 2)
        return [first + rows[0], *[blank + row for row in rows[1:]]]


def _spoken(line: DiffLine, text: str) -> str:
    number = line.old_number if line.kind == "removed" else line.new_number
    kind = {"added": "Added", "removed": "Removed", "same": "Line", "note": "Note"}[line.kind]
    return f"{kind} {number}: {text}" if number is not None else f"{kind}: {text}"


Ranges = list[tuple[int, int]]


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges] | None:
    """Return the changed character ranges of two lines; None if they have little in common."""
    if old == new or max(len(old), len(new)) > _MAX_LINE_CHARS:
        return None
    before, after = re.findall(_WORD, old), re.findall(_WORD, new)
    if max(len(before), len(after)) > _MAX_WORDS:
        return None
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    same = sum([len("".join(before[i : i + size]).strip()) for i, _, size in matcher.get_matching_blocks()])
    if same * 2 < _LEAST_LIKENESS * (len(old.strip()) + len(new.strip())):
        return None
    old_ranges: Ranges = []
    new_ranges: Ranges = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            _note_range(old_ranges, before, i1, i2)
            _note_range(new_ranges, after, j1, j2)
    return old_ranges, new_ranges


def _note_range(ranges: Ranges, words: list[str], first: int, last: int) -> None:
    if first < last:
        start = sum([len(word) for word in words[:first]])
        ranges.append((start, start + sum([len(word) for word in words[first:last]])))


def _mark_ranges(text: str, ranges: Ranges, style: Style, marked: Style) -> str:
    out: list[str] = []
    at = 0
    for start, end in ranges:
        out.append(style(text[at:start]))
        out.append(marked(text[start:end]))
        at = end
    out.append(style(text[at:]))
    return "".join(out)
