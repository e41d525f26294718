"""The component base class: it renders rows for a width, handles keys, and reports which rows are final."""

from collections.abc import Sequence
from typing import NamedTuple

from tau.tui.input.key import InputEvent

CURSOR_MARKER = "\x1b_tau:cursor\x1b\\"
"""The focused component puts it where the next character would appear; the renderer removes it from every row
and places the real cursor there. Untrusted text is cleaned, so it cannot contain the marker."""


class CommitBoundary(NamedTuple):
    """Where the final rows of a component end, counted in the rows it last rendered."""

    live_start: int
    """The first row that may still change: it and all below it, in later components too, stay on screen."""
    commit_safe_end: int | None = None
    """A lower boundary: rows of the live part up to here will not change either."""


class Component:
    """The base of everything on the screen. Subclasses override what they need.

    `render` returns rows that fit the width. An unchanged component returns the identical object as last
    time, and a new object whenever a row changed; a returned list is never modified. Rows contain clean text
    (`tau.tui.text.clean`), styled with SGR and OSC 8 sequences only, and each row ends with its styles
    closed.
    """

    takes_pasted_keys = True
    """Whether several characters in one read are typed into it; otherwise they are a paste: nobody types that
    fast, and a pasted letter must not answer a question."""
    wants_releases = False
    """Whether key releases are passed on to it."""
    focused = False
    """Set by the screen. A focused component that edits text writes `CURSOR_MARKER`."""

    def render(self, width: int) -> Sequence[str]:
        """Return the rows at this width; must not raise, even at a width of 1."""
        raise NotImplementedError

    def handle_input(self, event: InputEvent) -> bool:
        """Handle a key or a paste; False if it was not used."""
        return False

    def invalidate(self) -> None:
        """Forget cached rows: the theme changed. Containers pass it on to their children."""

    def commit_boundary(self) -> CommitBoundary | None:
        """Return where the final rows of the last `render` end; None if all rows may be final."""
        return None

    def block_starts(self) -> Sequence[int]:
        """Return the first rows of the blocks of the last `render`; the number of blocks does not depend on
        the width."""
        return (0,)


class CachedComponent(Component):
    """Renders once per width with `_render_rows`; call `invalidate` after a change."""

    _rows: Sequence[str] | None = None
    _width = -1

    def invalidate(self) -> None:
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        if self._rows is None or width != self._width:
            self._width = width
            self._rows = self._render_rows(max(width, 1))
        return self._rows

    def _render_rows(self, width: int) -> Sequence[str]:
        raise NotImplementedError


class LiveComponent(Component):
    """A component whose rows are never final."""

    def commit_boundary(self) -> CommitBoundary:
        return CommitBoundary(0)
