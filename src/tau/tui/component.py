"""What can be drawn: a component gives rows for a width, takes keys, and says which of its rows are final."""

from collections.abc import Sequence
from typing import NamedTuple

from tau.tui.input.key import InputEvent

CURSOR_MARKER = "\x1b_tau:cursor\x1b\\"


class CommitBoundary(NamedTuple):
    """Where the final rows of a component end, counted in the rows it last rendered."""

    live_start: int
    """The first row that may still change: it and all below it, in later components too, stay on screen."""
    commit_safe_end: int | None = None
    """A deeper boundary: rows of the live part up to here will not change either."""


class Component:
    """The base of everything on the screen. Subclasses override what they need.

    `render` returns rows that fit the width. A component that did not change returns the very object it
    returned last time, and another object whenever a row changed; nobody changes a list that was handed out.
    Rows hold clean text (`tau.tui.text.clean`), styled with SGR and OSC 8 sequences only, and each row ends
    with its styles closed.
    """

    wants_releases = False
    """Whether key releases are passed on to it."""
    focused = False
    """Set by the screen. A focused component that edits text writes `CURSOR_MARKER`."""

    def render(self, width: int) -> Sequence[str]:
        """The rows at this width; never an exception, also at a width of 1."""
        raise NotImplementedError

    def handle_input(self, event: InputEvent) -> bool:
        """A key or a paste for the focused component; False where it means nothing to it."""
        return False

    def invalidate(self) -> None:
        """Forget cached rows: the theme changed. Containers pass it on to their children."""

    def seam(self) -> CommitBoundary | None:
        """After `render`: where the final rows end; None for a component whose rows may all be final."""
        return None


class CachedComponent(Component):
    """Draws its rows once for a width; who changes something of it calls `invalidate`. `_drawn` draws."""

    _rows: Sequence[str] | None = None
    _width = -1

    def invalidate(self) -> None:
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        if self._rows is None or width != self._width:
            self._width = width
            self._rows = self._drawn(max(width, 1))
        return self._rows

    def _drawn(self, width: int) -> Sequence[str]:
        raise NotImplementedError


class LiveComponent(Component):
    """A component none of whose rows is ever final."""

    def seam(self) -> CommitBoundary:
        return CommitBoundary(0)


# The focused component puts it where the next character would appear; the renderer takes it out of every row
# and places the real cursor there. Text from outside is cleaned and so cannot contain it.
