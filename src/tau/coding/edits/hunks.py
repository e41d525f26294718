"""Hunks of a patch (kept, removed and added lines), and their conversion to splices."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError
from tau.coding.edits.lines import EXACT, LINE_ENDS, TIER_NAMES, TextLines
from tau.coding.edits.splices import Splice


class HunkRow(Struct, frozen=True, gc=False):
    """One line of a hunk: kept, removed or added."""

    kind: Literal[" ", "-", "+"]
    text: str


def parse_row(line: str) -> HunkRow:
    """Parse a line that starts with `-`, `+` or a blank, or is empty."""
    match line[:1]:
        case "-" | "+" as kind:
            return HunkRow(kind, line[1:])
        case _:
            return HunkRow(" ", line[1:])


class PatchHunk(Struct, frozen=True, kw_only=True):
    """`number` is one-based within its file.

    `scopes` are lines to find above it, outermost first. `line` is the (one-based) line at which the
    patch says it starts; a hunk without old lines goes after `line`. `at_end`: its last old
    line is the last of the file. `old_unended` and `new_unended`: that line has no newline.
    """

    number: int
    rows: tuple[HunkRow, ...]
    scopes: tuple[str, ...] = ()
    line: int | None = None
    at_end: bool = False
    old_unended: bool = False
    new_unended: bool = False

    @property
    def old(self) -> list[str]:
        return [row.text for row in self.rows if row.kind != "+"]

    @property
    def new(self) -> list[str]:
        return [row.text for row in self.rows if row.kind != "-"]

    @property
    def changes(self) -> bool:
        return any(row.kind != " " for row in self.rows)


class HunkPlacement(Struct, frozen=True):
    """Where a hunk applies: its first old line (zero-based), the match tier, and the rows that matched."""

    hunk: PatchHunk
    at: int
    tier: int
    rows: tuple[HunkRow, ...]

    @property
    def end(self) -> int:
        return self.at + sum(row.kind != "+" for row in self.rows)

    @property
    def core(self) -> tuple[int, int]:
        """The old lines from the first to the last change."""
        kinds = [row.kind for row in self.rows]
        before = next((index for index, kind in enumerate(kinds) if kind != " "), len(kinds))
        after = next((index for index, kind in enumerate(reversed(kinds)) if kind != " "), 0)
        return self.at + before, self.end - after


class _Run(Struct, frozen=True):
    """A contiguous run of old lines, `start` up to `end`, replaced by new ones."""

    start: int
    end: int
    new: list[str]


def splices_of(lines: TextLines, places: Sequence[HunkPlacement]) -> list[Splice]:
    """Convert placed hunks to splices; kept lines are never rewritten, even if quoted inexactly."""
    splices: list[Splice] = []
    for place in sorted(places, key=lambda place: place.core):
        for run in _runs(lines, place):
            splice = _splice(lines, run, place)
            if splices and splices[-1].end > splice.start:
                raise ToolError(f"Hunk {place.hunk.number} overlaps another hunk.")
            if splices and _joins(splices[-1], splice):
                raise ToolError(f"Hunk {place.hunk.number} follows a line that ends without a newline.")
            splices.append(splice)
    return [one for one in splices if lines.text[one.start : one.end] != one.text]


def _joins(before: Splice, after: Splice) -> bool:
    """Whether a new line would join the one before it."""
    touching = before.end == after.start and before.text and after.text
    return bool(touching) and not before.text.endswith(("\n", "\r")) and after.text[0] not in "\r\n"


def _runs(lines: TextLines, place: HunkPlacement) -> Iterator[_Run]:
    at = start = place.at
    old: list[str] = []
    new: list[str] = []
    for row in (*place.rows, HunkRow(" ", "")):
        if row.kind == " ":
            if old or new:
                yield _trim(_Run(start, at, new), old, place.hunk)
            at += 1
            start, old, new = at, [], []
        elif row.kind == "-":
            old.append(row.text)
            at += 1
        else:
            new.append(row.text)


def _trim(run: _Run, old: list[str], hunk: PatchHunk) -> _Run:
    """Drop lines that a patch removes and adds back unchanged, so the file's own are kept."""
    start, end, new = run.start, run.end, run.new
    if hunk.old_unended or hunk.new_unended:
        return run
    while old and new and old[0] == new[0]:
        start, old, new = start + 1, old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        end, old, new = end - 1, old[:-1], new[:-1]
    return _Run(start, end, new)


def _splice(lines: TextLines, run: _Run, place: HunkPlacement) -> Splice:
    start, end = lines.offset(run.start), lines.offset(run.end)
    hunk, new = place.hunk, run.new
    if not new:
        stays_open = not (lines.final_newline or hunk.old_unended or hunk.new_unended)
        if stays_open and run.end == len(lines) and run.start and lines.bodies[run.start - 1]:
            start -= len(lines.ending(run.start - 1))  # a file without a final newline stays without one
        return Splice(start, end, "")
    if not is_faithful(lines, place):
        new = [text.removesuffix("\r") for text in new]
    pieces = [text + ending for text, ending in zip(new, _endings(lines, run, place), strict=True)]
    if run.end == len(lines):
        ended = lines.final_newline or not len(lines)
        if hunk.old_unended or hunk.new_unended:
            ended = not hunk.new_unended
        if not ended:
            pieces[-1] = new[-1]
        if run.start == len(lines) and not lines.final_newline and len(lines):
            pieces.insert(0, lines.usual_ending(run.start))
    return Splice(start, end, "".join(pieces))


def _endings(lines: TextLines, run: _Run, place: HunkPlacement) -> Iterator[str]:
    """Yield the ending of each new line: that of the line it replaces, else of its neighbors."""
    if is_faithful(lines, place):
        yield from ("\n" for _ in run.new)
        return
    endings = [lines.ending(index) for index in range(run.start, run.end)]
    usual = next((ending for ending in reversed(endings) if ending), "") or lines.usual_ending(run.start)
    for index in range(len(run.new)):
        yield (endings[index] if index < len(endings) else usual) or usual


def is_faithful(lines: TextLines, place: HunkPlacement) -> bool:
    """Whether the patch quotes line endings exactly, so its new ones are literal too."""
    if lines.separator != "\n":
        return False
    if any(row.kind != "+" for row in place.rows) and place.tier != EXACT:
        return False
    if "\r" not in lines.text or any(row.text.endswith("\r") for row in place.rows):
        return True
    # A plain newline is literal only where the file has one, not after an unterminated last line.
    return place.end > place.at and bool(lines.ending(place.at))


def match_note(place: HunkPlacement) -> str | None:
    """Return the note for an inexact match."""
    if place.tier <= LINE_ENDS:
        return None
    return (
        f"Hunk {place.hunk.number} matched approximately at lines {place.at + 1}-{place.end}: "
        f"{TIER_NAMES[place.tier]} differ from what the patch quotes."
    )
