"""Hunks of a patch on a text: lines that stay, go and come, turned into splices."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError
from tau.coding.edits.lines import EXACT, LINE_ENDS, TIER_NAMES, TextLines
from tau.coding.edits.splices import Splice


class HunkRow(Struct, frozen=True, gc=False):
    """One line of a hunk: it stays, goes, or comes."""

    kind: Literal[" ", "-", "+"]
    text: str


class PatchHunk(Struct, frozen=True, kw_only=True):
    """`number` counts in its file from 1.

    `scopes` are lines to be found above it, the outermost first. `line` is the line (from 1) at which the
    patch says that it starts; a hunk without old lines comes after the line `line`. `at_end`: its last old
    line is the last one of the file. `old_unended` and `new_unended`: that line ends without a newline.
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
    """Where a hunk goes: its first old line, counted from 0; how closely it matched; its rows that did."""

    hunk: PatchHunk
    at: int
    tier: int
    rows: tuple[HunkRow, ...]

    @property
    def end(self) -> int:
        return self.at + sum(row.kind != "+" for row in self.rows)

    @property
    def core(self) -> tuple[int, int]:
        """The old lines from the first that changes up to the last."""
        kinds = [row.kind for row in self.rows]
        before = next((index for index, kind in enumerate(kinds) if kind != " "), len(kinds))
        after = next((index for index, kind in enumerate(reversed(kinds)) if kind != " "), 0)
        return self.at + before, self.end - after


class _Run(Struct, frozen=True):
    """Old lines from `start` up to `end` that give way to new ones, without a kept line between."""

    start: int
    end: int
    new: list[str]


def splices_of(lines: TextLines, places: Sequence[HunkPlacement]) -> list[Splice]:
    """What the hunks change; lines that stay are never rewritten, whatever the patch says of them."""
    splices: list[Splice] = []
    for place in sorted(places, key=lambda place: place.core):
        for run in _runs(lines, place):
            splice = _splice(lines, run, place)
            if splices and splices[-1].end > splice.start:
                raise ToolError(f"Hunk {place.hunk.number} changes lines that another hunk changes too.")
            if splices and _glued(splices[-1], splice):
                raise ToolError(f"Hunk {place.hunk.number} follows a line that ends without a newline.")
            splices.append(splice)
    return [one for one in splices if lines.text[one.start : one.end] != one.text]


def _glued(before: Splice, after: Splice) -> bool:
    """Whether a new line would run into the one before it."""
    touching = before.end == after.start and before.text and after.text
    return bool(touching) and not before.text.endswith(("\n", "\r")) and after.text[0] not in "\r\n"


def _runs(lines: TextLines, place: HunkPlacement) -> Iterator[_Run]:
    at = start = place.at
    old: list[str] = []
    new: list[str] = []
    for row in (*place.rows, HunkRow(" ", "")):
        if row.kind == " ":
            if old or new:
                yield _trimmed(_Run(start, at, new), old, place.hunk)
            at += 1
            start, old, new = at, [], []
        elif row.kind == "-":
            old.append(row.text)
            at += 1
        else:
            new.append(row.text)


def _trimmed(run: _Run, old: list[str], hunk: PatchHunk) -> _Run:
    """Without lines that a patch takes away and puts back the same: the file's own stay."""
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
    if not run.new:
        return Splice(start, end, "")
    hunk, new = place.hunk, run.new
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
    """How each new line ends: as the one whose place it takes, else as its neighbours."""
    if is_faithful(lines, place):
        yield from ("\n" for _ in run.new)
        return
    endings = [lines.ending(index) for index in range(run.start, run.end)]
    usual = next((ending for ending in reversed(endings) if ending), "") or lines.usual_ending(run.start)
    for index in range(len(run.new)):
        yield (endings[index] if index < len(endings) else usual) or usual


def is_faithful(lines: TextLines, place: HunkPlacement) -> bool:
    """Whether the patch speaks of line ends as they are, so that its own are to be taken as they are."""
    if lines.separator != "\n":
        return False
    if any(row.kind != "+" for row in place.rows) and place.tier != EXACT:
        return False
    if "\r" not in lines.text or any(row.text.endswith("\r") for row in place.rows):
        return True
    # A plain newline is meant where the file is seen to have one, not below a last line that does not end.
    return place.end > place.at and bool(lines.ending(place.at))


def remark(place: HunkPlacement) -> str | None:
    """What is to be told of a match that was not exact."""
    if place.tier <= LINE_ENDS:
        return None
    return (
        f"Hunk {place.hunk.number} matched approximately at lines {place.at + 1}-{place.end}: "
        f"{TIER_NAMES[place.tier]} differ from what the patch quotes."
    )
