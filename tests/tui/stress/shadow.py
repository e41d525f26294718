"""The shadow ledger: what the tape must hold, derived independently from the observed frames.

It shares nothing with the engine. Rows are compared as plain text. The rules, for a frame of L rows of which
those before B are final, on a grid of H rows, with C rows already committed to the history:

- W = max(C, L - H) is the first row of the window; C' = max(C, min(B, W)); the history gains rows C to C'.
- Overlays hold commits back, but not when the session is replaced: that starts again with C = 0, below what
  the history holds.
- A frame that no longer reaches beyond C shows its last rows again and C becomes min(B, W).
- The last of these C rows are checked each time, up to 8 non-blank ones among the last 24: if two or more
  differ, rows were moved, and everything from the first difference on is committed again.
- The first frame starts below the shell's output, which moves into the history as the window needs room.
- After a width change, the first row of the window may have begun in a final row above: then its rest is
  shown, as long as the row begins like that.
"""

from collections.abc import Sequence
from typing import NamedTuple

_TAIL_ROWS = 24
_SAMPLES = 8


class Frame(NamedTuple):
    """What the tree returned for one frame, and the circumstances."""

    rows: Sequence[str]
    """Plain text without trailing blanks."""
    boundary: int
    height: int
    overlay: bool = False
    replaced: bool = False
    """Another session has replaced the previous one."""


class Shadow:
    """What the history and the grid hold, if every frame was drawn correctly."""

    def __init__(self, above: Sequence[str] = ()) -> None:
        self.history: list[str] = []
        self.above: list[str] = list(above)
        """Rows on the grid that are not ours: the shell wrote them before we started."""
        self.window: list[str] = []
        self.committed: list[str] = []
        """The rows of the current frame that are in the history, as they were when committed."""
        self.window_top = 0
        self.chunk: list[str] = []
        """What the last frame added to the history."""
        self.begun: tuple[int, str, str] | None = None
        """A row, its beginning that is not shown, and the blanks shown instead."""

    @property
    def grid(self) -> list[str]:
        return self.above + self.window

    def draw(self, frame: Frame) -> list[str]:
        """A frame of any kind. Returns the rows that may occur twice from now on."""
        rows, top = list(frame.rows), max(0, len(frame.rows) - frame.height)
        before, held = len(self.committed), frame.overlay
        if frame.replaced:
            self.committed, held = [], False
        elif before and before >= len(rows):
            # The frame was cut back into committed rows: it is anchored again, at its end.
            del self.committed[min(frame.boundary, top) :]
            held = False
        self._forget_moved(rows)
        done = len(self.committed)
        self.window_top = max(done, top)
        end = done if held else max(done, min(frame.boundary, self.window_top))
        self.committed += rows[done:end]
        if frame.replaced:
            self.begun = None
        shown = self.shown(rows)
        self.chunk = shown[done:end]
        self.window = shown[self.window_top : self.window_top + frame.height]
        self.give_way(len(self.above) + len(self.window) - frame.height)
        self.history += self.chunk
        return rows[done:] if done < before else []

    def shown(self, rows: Sequence[str]) -> list[str]:
        """The rows as they are to be seen."""
        rows = list(rows)
        if self.begun is not None:
            at, beginning, blanks = self.begun
            if at < len(rows) and rows[at].startswith(beginning):
                rest = rows[at][len(beginning) :].lstrip()
                rows[at] = blanks + rest if rest else ""
        return rows

    def give_way(self, rows: int) -> None:
        """This many of the shell's rows leave the grid."""
        if rows > 0:
            self.history += self.above[:rows]
            del self.above[:rows]

    def leave(self, frame: Frame, end: int) -> None:
        """The terminal is released: rows up to `end` stay on it, and the cursor is below them."""
        done = len(self.committed)
        self.above += self.shown(frame.rows)[done:end]
        self.committed += frame.rows[done:end]
        self.window = []
        self.give_way(len(self.above) + 1 - frame.height)

    def printed(self, rows: Sequence[str], height: int) -> None:
        """The shell wrote these rows, and its cursor is below them."""
        self.above += rows
        self.give_way(len(self.above) + 1 - height)

    def follow(
        self, frame: Frame, history: Sequence[str], grid: Sequence[str], ledger: tuple[int, int]
    ) -> str:
        """The terminal was resized: adopt its content, or report what is wrong.

        Which rows it pushed out or took back is its own affair, so C is taken from `ledger`; what the grid
        shows is checked, unless overlays hide it.
        """
        self.chunk = []
        self.history = list(history)
        shown, top = list(grid), max(0, len(frame.rows) - frame.height)
        done, hidden_top = ledger
        self.committed = list(frame.rows[:done])
        if frame.overlay:
            self.window_top, self.above = hidden_top, []
            self.window = list(frame.rows[hidden_top : hidden_top + frame.height])
            return ""
        if hidden_top not in (top, done):
            return f"the window begins at {hidden_top}, and C is {done}"
        for above in range(len(shown)):
            window = self.shown(frame.rows)[hidden_top : hidden_top + frame.height - above]
            if shown[above:] == window + [""] * (len(shown) - above - len(window)):
                break
            if self._continues(shown[above:], window, hidden_top):
                window[0] = shown[above]
                break
        else:
            return "the grid is no slice of the frame"
        self.window_top, self.window, self.above = hidden_top, window, shown[:above]
        return "" if done <= hidden_top else f"C is {done}, and the window begins at {hidden_top}"

    def _continues(self, shown: Sequence[str], window: Sequence[str], top: int) -> bool:
        """Whether the grid shows this window, but only the rest of its first row."""
        if not window or list(shown[1:]) != [*window[1:], *[""] * (len(shown) - len(window))]:
            return False
        rest = shown[0].lstrip()
        if not window[0].endswith(rest):
            return False
        beginning = window[0][: len(window[0]) - len(rest)]
        self.begun = top, beginning, shown[0][: len(shown[0]) - len(rest)] or " " * _indent(window[0])
        return True

    def _forget_moved(self, rows: list[str]) -> None:
        """Rows that moved after they were committed are to be committed again."""
        done = len(self.committed)
        tail = [at for at in range(max(0, done - _TAIL_ROWS), done) if self.committed[at]][-_SAMPLES:]
        if sum(rows[at] != self.committed[at] for at in tail) >= 2:
            first = next(at for at in range(done) if rows[at] != self.committed[at])
            del self.committed[first:]


def _indent(row: str) -> int:
    """How many characters come before the first letter."""
    return next((at for at, char in enumerate(row) if char.isalnum()), 0)
