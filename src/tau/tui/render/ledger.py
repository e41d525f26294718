"""The ledger of the append-only screen: which rows are in the history, shown, or not yet final.

C rows of the frame have scrolled into the terminal's history and are never written again. The window shows
the rows from W on. Rows from the boundary B on may still change and stay out of the history. L is the length
of the frame. Always C <= W; the rows from C to W, if any, are hidden until B passes them.
"""

from typing import NamedTuple


class Ledger(NamedTuple):
    """The state after a frame."""

    committed: int = 0
    """C"""
    window_top: int = 0
    """W"""
    boundary: int = 0
    """B"""
    length: int = 0
    """L"""


class RowPlace(NamedTuple):
    """A place in the text: a row of the frame, and how many of its letters come before."""

    row: int
    skipped: int = 0


class LedgerStep(NamedTuple):
    """The ledger after a frame, and the rows that enter the history with it: `start` to C."""

    ledger: Ledger
    start: int


def advance(
    committed: int, *, length: int, height: int, boundary: int, frozen: bool = False, handed_over: int = 0
) -> LedgerStep:
    """Compute an ordinary frame. `frozen`: an overlay covers rows, so none may leave the window.

    A frame that shrank into its committed rows is anchored again; the history keeps its rows. A frame of
    final rows that ends where rows were `handed_over` to the shell (the screen was stopped in between) has
    not shrunk: there is nothing to show below.
    """
    boundary = min(boundary, length)
    ends_there = length == committed and (not committed or boundary == committed == handed_over)
    if length <= committed and not ends_there:
        top = max(0, length - height)
        kept = min(boundary, top)
        return LedgerStep(Ledger(kept, top, boundary, length), kept)
    top = max(committed, length - height)
    end = committed if frozen else max(committed, min(boundary, top))
    return LedgerStep(Ledger(end, top, boundary, length), committed)


def restart(*, length: int, height: int, boundary: int) -> LedgerStep:
    """Compute a full paint: the record is written from its first row."""
    boundary = min(boundary, length)
    top = max(0, length - height)
    return LedgerStep(Ledger(min(boundary, top), top, boundary, length), 0)
