"""Composes frames: the stacked rows of the root's children, and where the final rows end."""

from collections.abc import Sequence, Set
from operator import is_
from typing import NamedTuple

from tau.base.late import late
from tau.tui.component import CURSOR_MARKER, CommitBoundary, Component
from tau.tui.rows import RowPart, Rows
from tau.tui.text.width import visible_width

log = late("tau.base.log")


class Frame(NamedTuple):
    """All rows, from the first of the transcript to the last of the editor."""

    rows: Rows
    live_start: int
    """The first row that may still change; the length of the frame if no child has a boundary."""
    boundary: int
    """B: rows from here on must not enter the history."""
    content_end: int
    """Where the first child with a boundary ends: rows below (editor, status) are not part of the record."""
    has_boundary: bool = True


EMPTY_FRAME = Frame(Rows(), 0, 0, 0)


class Record(NamedTuple):
    """The rows of the first child with a boundary, or all rows."""

    start: int
    rows: Sequence[str]
    block_starts: Sequence[int]
    """The first row of each block, counted in `rows`."""


class FrameComposer:
    """Renders the children and caches their rows, so that unchanged ones cost only a comparison."""

    def __init__(self) -> None:
        self._children: list[Component] = []
        self._parts: list[RowPart] = []
        self._boundaries: list[CommitBoundary | None] = []
        self._width = -1
        self._frame = EMPTY_FRAME
        self._broken: set[int] = set()

    def compose(self, children: Sequence[Component], width: int, only: Set[int] | None = None) -> Frame:
        """Compose the frame at this width. `only`: ids of the children to render; the others are reused.

        Returns the identical frame object if nothing changed.
        """
        count = len(children)
        known = width == self._width and count == len(self._children)
        if not (known and all(map(is_, children, self._children))):
            only = None
            previous: list[RowPart] = [[]] * count
        else:
            previous = self._parts
        parts: list[RowPart] = []
        boundaries: list[CommitBoundary | None] = []
        for index, child in enumerate(children):
            if only is None or id(child) in only:
                part, child_boundary = self._render(child, width, previous[index])
            else:
                part, child_boundary = self._parts[index], self._boundaries[index]
            parts.append(part)
            boundaries.append(child_boundary)
        if previous is self._parts and boundaries == self._boundaries and all(map(is_, parts, self._parts)):
            return self._frame
        self._children, self._parts, self._boundaries, self._width = list(children), parts, boundaries, width
        self._frame = join_parts(parts, boundaries)
        return self._frame

    def record(self) -> "Record":
        """Return the part of the last frame whose rows become final."""
        above = 0
        for child, part, boundary in zip(self._children, self._parts, self._boundaries, strict=True):
            if boundary is not None:
                return Record(above, part, child.block_starts())
            above += len(part)
        return Record(0, self._frame.rows, (0,))

    def _render(
        self, child: Component, width: int, previous: RowPart
    ) -> tuple[RowPart, CommitBoundary | None]:
        """Render a child; if it fails, reuse its previous rows."""
        try:
            part = child.render(width)
            return part, child.commit_boundary()
        except Exception as exc:
            if id(child) not in self._broken and len(self._broken) < 100:
                self._broken.add(id(child))
                log.error(f"{type(child).__name__} could not be rendered", exc)
            return previous, CommitBoundary(0)


def join_parts(parts: Sequence[RowPart], boundaries: Sequence[CommitBoundary | None]) -> Frame:
    """Join the parts of the children, with boundaries relative to the first row of the frame."""
    flat: list[RowPart] = []
    above = 0
    live_start: int | None = None
    deeper: int | None = None
    content_end = 0
    for part, child_boundary in zip(parts, boundaries, strict=True):
        if isinstance(part, Rows):
            flat += part.parts
        else:
            flat.append(part)
        length = len(part)
        if child_boundary is not None and live_start is None:
            content_end = above + length
            live_start = above + min(max(child_boundary.live_start, 0), length)
            if child_boundary.commit_safe_end is not None:
                deeper = above + min(max(child_boundary.commit_safe_end, 0), length)
        above += length
    if live_start is None:
        return Frame(Rows(flat), above, above, above, False)
    boundary = live_start if deeper is None else max(live_start, deeper)
    return Frame(Rows(flat), live_start, boundary, content_end)


def extract_cursor_marker(rows: list[str]) -> tuple[int, int] | None:
    """Remove cursor markers from these rows; returns the row and column of the last one."""
    cursor = None
    for index, row in enumerate(rows):
        if "\x1b_" in row and CURSOR_MARKER in row:
            head, _, _ = row.partition(CURSOR_MARKER)
            cursor = index, visible_width(head)
            rows[index] = row.replace(CURSOR_MARKER, "")
    return cursor
