"""A frame: the rows of the root's children one below the other, and where its final rows end."""

from collections.abc import Sequence, Set
from operator import is_
from typing import NamedTuple

from tau.base.late import late
from tau.tui.component import CURSOR_MARKER, CommitBoundary, Component
from tau.tui.rows import RowPart, Rows
from tau.tui.text.width import visible_width

log = late("tau.base.log")


class Frame(NamedTuple):
    """Everything that is to be shown, from the first row of the transcript to the last of the editor."""

    rows: Rows
    live_start: int
    """The first row that may still change; the length of the frame if no child says so."""
    boundary: int
    """B: rows from here on must not enter the history."""
    content_end: int
    """Where the first child with a seam ends: what comes below (editor, status) is not part of the record."""
    has_seam: bool = True


EMPTY_FRAME = Frame(Rows(), 0, 0, 0)


class Composer:
    """Renders the children and remembers what each gave, so that unchanged ones cost a comparison."""

    def __init__(self) -> None:
        self._children: list[Component] = []
        self._parts: list[RowPart] = []
        self._seams: list[CommitBoundary | None] = []
        self._width = -1
        self._frame = EMPTY_FRAME
        self._broken: set[int] = set()

    def compose(self, children: Sequence[Component], width: int, only: Set[int] | None = None) -> Frame:
        """The frame at this width. `only`: ids of the children to render; the others are as they were.

        The very same frame comes back when nothing changed.
        """
        count = len(children)
        known = width == self._width and count == len(self._children)
        if not (known and all(map(is_, children, self._children))):
            only = None
            previous: list[RowPart] = [[]] * count
        else:
            previous = self._parts
        parts: list[RowPart] = []
        seams: list[CommitBoundary | None] = []
        for index, child in enumerate(children):
            if only is None or id(child) in only:
                part, seam = self._rendered(child, width, previous[index])
            else:
                part, seam = self._parts[index], self._seams[index]
            parts.append(part)
            seams.append(seam)
        if previous is self._parts and seams == self._seams and all(map(is_, parts, self._parts)):
            return self._frame
        self._children, self._parts, self._seams, self._width = list(children), parts, seams, width
        self._frame = joined(parts, seams)
        return self._frame

    def _rendered(
        self, child: Component, width: int, previous: RowPart
    ) -> tuple[RowPart, CommitBoundary | None]:
        """A component that fails shows what it showed before: the screen goes on."""
        try:
            part = child.render(width)
            return part, child.seam()
        except Exception as exc:
            if id(child) not in self._broken and len(self._broken) < 100:
                self._broken.add(id(child))
                log.error(f"{type(child).__name__} could not be drawn", exc)
            return previous, CommitBoundary(0)


def joined(parts: Sequence[RowPart], seams: Sequence[CommitBoundary | None]) -> Frame:
    """Parts and seams of the children, counted from the first row of the frame."""
    flat: list[RowPart] = []
    above = 0
    live_start: int | None = None
    deeper: int | None = None
    content_end = 0
    for part, seam in zip(parts, seams, strict=True):
        if isinstance(part, Rows):
            flat += part.parts
        else:
            flat.append(part)
        length = len(part)
        if seam is not None and live_start is None:
            content_end = above + length
            live_start = above + min(max(seam.live_start, 0), length)
            if seam.commit_safe_end is not None:
                deeper = above + min(max(seam.commit_safe_end, 0), length)
        above += length
    if live_start is None:
        return Frame(Rows(flat), above, above, above, False)
    boundary = live_start if deeper is None else max(live_start, deeper)
    return Frame(Rows(flat), live_start, boundary, content_end)


def take_marker(rows: list[str]) -> tuple[int, int] | None:
    """Take the cursor marker out of these rows; the row and the column where the last one stood."""
    found = None
    for index, row in enumerate(rows):
        if "\x1b_" in row and CURSOR_MARKER in row:
            head, _, _ = row.partition(CURSOR_MARKER)
            found = index, visible_width(head)
            rows[index] = row.replace(CURSOR_MARKER, "")
    return found
