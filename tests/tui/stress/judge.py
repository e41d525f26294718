"""Compares the terminal with the shadow ledger after every frame."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from tau.tui.component import CURSOR_MARKER, Component
from tests.tui.stress.bytes_rules import ByteRules
from tests.tui.stress.cells import cells, clipped, plain
from tests.tui.stress.content import NARROWEST_FOR_WORDS, words
from tests.tui.stress.mismatch import Mismatch, differing
from tests.tui.stress.parts import PANEL_END, PANEL_START
from tests.tui.stress.shadow import Frame, Shadow
from tests.tui.stress.shapes import Shape
from tests.tui.stress.watch import ComponentRecorder, HeardTerminal

_UNCLEAN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]|tau:cursor")
_LATELY_FRAMES = 12
_SEARCHED_ROWS = 64
"""How far above its position to look for text that changed together with the width."""
_LOOKED_AT = 3
"""Rows whose cells are compared one by one after each frame."""


class Judge:
    """Fed with frames and bytes; owns the shadow and reports what is wrong."""

    def __init__(
        self, terminal: HeardTerminal, seen: ComponentRecorder, shape: Shape, above: Sequence[str]
    ) -> None:
        self.terminal = terminal
        self.seen = seen
        self.shadow = Shadow(above)
        self.shell = set(above)
        """The shell's output, which must not be erased or overwritten."""
        self.frames = 0
        self.rows: list[str] = []
        """The last frame as returned by the tree."""
        self.last = Frame((), 0, shape.rows)
        self._rules = ByteRules(sync=shape.sync)
        self._in_history: Counter[str] = Counter()
        self._repeatable: Counter[str] = Counter()
        self.stale: set[str] = set()
        """Words that need not be on the tape: they were added to rows that were already final."""
        self.forbidden: set[str] = set()
        """Words that must not be visible at this width: they were added to a block that is drawn once."""
        self._edited: dict[int, str] = {}
        self._columns = shape.columns
        self._content_end = 0
        self._reader: list[str] = []
        self._resized = False
        self._lately: deque[list[str]] = deque(maxlen=_LATELY_FRAMES)

    def scroll(self, offset: int) -> None:
        """A user scrolls up this far and stays there: their view of the history must not change."""
        self.terminal.scroll_view(offset)
        offset = min(offset, self.terminal.scrollback_length)
        self._reader = self.terminal.pinned_view()[:offset]

    def frame(self, children: Sequence[Component], replaced: bool, overlays: int) -> None:
        """Check everything after one frame. Raises Mismatch."""
        terminal = self.terminal
        self.last = frame = self._seen_frame(children, replaced, overlays)
        self._rules.frame(terminal.take())
        history, grid = terminal.scrollback(), terminal.screen()
        self._draw(frame, history)
        self._grid(grid, overlays)
        self._everywhere(grid, overlays)
        self._pinned()

    def after_outside(
        self, children: Sequence[Component], ledger: tuple[int, int], overlays: int, frames: int
    ) -> None:
        """The first frame after the terminal was resized.

        `ledger` is the engine's claim about C, which nobody else can know then, and about W while overlays
        hide the grid. Lost or repeated words reveal whether it is true. `frames` were written in between.
        """
        self._reader = []
        terminal, shadow = self.terminal, self.shadow
        highest = max(self.last.height, terminal.rows)
        self.last = frame = self._seen_frame(children, False, overlays)
        self._rules.frame(terminal.take())
        was_there = set(self._in_history) | set(words(shadow.window))
        history, grid = terminal.scrollback(), terminal.screen()
        self._shell_is_there([*history, *grid])
        grown = max(len(history) - len(shadow.history), 0)
        # It is unknown since when it has this size: recent commits may be spoilt as well.
        lately = [row for chunk in self._lately for row in chunk]
        page = grown + 2 * highest * (1 + frames) + _SEARCHED_ROWS
        near = {*words(shadow.window), *words(lately), *words(history[-page:])}
        self._resized = True
        wrong = shadow.follow(frame, history, grid, ledger)
        if wrong:
            raise Mismatch("grid", f"{wrong}\n" + differing(list(frame.rows[-frame.height :]), grid))
        near.update(words(shadow.window))
        for _ in range(frames):
            self._repeatable.update(near)
        self._in_history = Counter(words(history))
        done, top = len(shadow.committed), shadow.window_top
        if terminal.columns >= NARROWEST_FOR_WORDS and not overlays:
            needed = set(words(frame.rows[:done])) | (was_there & set(words(frame.rows[top:])))
            missing = needed - self.stale - set(words([*history, *grid]))
            if missing:
                raise Mismatch("loss", f"{sorted(missing)[:8]} are on the tape no more")
        self._everywhere(grid, overlays)

    def after_leaving(self, end: int) -> None:
        """The shell has the terminal: rows up to `end` stay, and its prompt overwrites nothing."""
        terminal, shadow = self.terminal, self.shadow
        self._rules.leaving(terminal.take())
        shadow.leave(self.last, end)
        grid, (row, column) = terminal.screen(), terminal.cursor
        tape, wanted = [*terminal.scrollback(), *grid], [*shadow.history, *shadow.grid]
        wanted += [""] * (len(tape) - len(wanted))
        if tape != wanted:
            raise Mismatch("leaving", differing(wanted, tape))
        shadow.give_way(terminal.scrollback_length - len(shadow.history))  # as many as it likes
        if column or row != len(shadow.above):
            raise Mismatch("leaving", f"the cursor is left at {row}, {column}, before {grid[row:][:3]}")
        if not terminal.cursor_visible:
            raise Mismatch("leaving", "the cursor is left hidden")
        self._in_history = Counter(words(shadow.history))
        self._reader = []

    def at_the_end(self) -> None:
        """Every word of the transcript is on the tape.

        In order too, unless the terminal was resized, which repeats parts of the transcript.
        """
        if self.terminal.columns < NARROWEST_FOR_WORDS:
            return
        self._shell_is_there(self.terminal.tape())
        tape = words(self.terminal.tape())
        record = [word for word in words(self.last.rows) if word not in self.stale]
        missing = set(record) - set(tape)
        if missing:
            raise Mismatch("loss", f"{sorted(missing)[:8]} are nowhere to be read")
        if self._resized:
            return
        last = {word: at for at, word in enumerate(tape)}
        places = [last[word] for word in record]
        if places != sorted(places):
            raise Mismatch("order", "words stand in another order than in the record")

    def _seen_frame(self, children: Sequence[Component], replaced: bool, overlays: int) -> Frame:
        self.frames += 1
        self.rows, boundary = self.seen.frame(children)
        self._content_end = len(self.seen.rows_of(children[0]))
        width = self.terminal.columns
        return Frame(
            [clipped(row, width) for row in self.rows], boundary, self.terminal.rows, overlays > 0, replaced
        )

    def _draw(self, frame: Frame, history: list[str]) -> None:
        shadow = self.shadow
        again = shadow.draw(frame)
        if frame.overlay:  # an overlay may need more of the grid than the frame does
            shadow.give_way(len(history) - len(shadow.history))
        if history != shadow.history:
            raise Mismatch("history", differing(shadow.history, history))
        self._in_history.update(words(shadow.chunk))
        self._lately.append(shadow.chunk)
        self._repeatable.update(set(words(again)))
        done = len(shadow.committed)
        if frame.rows[:done] != shadow.committed:
            pairs = zip(frame.rows, shadow.committed, strict=False)
            edited = {at: row for at, (row, committed) in enumerate(pairs) if row != committed}
            if edited != self._edited:
                # Treated as an edit in place, since too few rows differ; if rows moved, some will come again.
                self.stale.update(words(edited.values()))
                self._repeatable.update(set(words(frame.rows[min(edited) :])))
            self._edited = edited

    def _grid(self, grid: list[str], overlays: int) -> None:
        expected = self.shadow.grid
        expected += [""] * (len(grid) - len(expected))
        if grid == expected:
            return
        if not overlays:
            raise Mismatch("grid", differing(expected, grid))
        raw, begun = [*self.shadow.above, *self.rows[self.shadow.window_top :]], self.shadow.begun
        for at, (want, got) in enumerate(zip(expected, grid, strict=True)):
            if begun is not None and at == len(self.shadow.above) + begun[0] - self.shadow.window_top:
                continue
            if want != got and not self._under_panel(at, raw[at] if at < len(raw) else ""):
                raise Mismatch("grid", f"row {at} beside an overlay: expected {want!r}, found {got!r}")

    def _under_panel(self, at: int, row: str) -> bool:
        """Whether a row is as expected except for the cells of one overlay."""
        width = self.terminal.columns
        shown = [self.terminal.cell(at, column).char for column in range(width)]
        if PANEL_END not in shown:
            return False
        end = width - shown[::-1].index(PANEL_END)
        covered = range(shown.index(PANEL_START) if PANEL_START in shown else end - 1, end)
        beside = [one.text for one in cells(row, width)]
        for column in range(width):
            cut = beside[column] == "" and column - 1 in covered
            cut = cut or (column + 1 < width and beside[column + 1] == "" and column + 1 in covered)
            want = " " if cut else beside[column]
            if column not in covered and (shown[column] or "") != want:
                return False
        return True

    def _everywhere(self, grid: list[str], overlays: int) -> None:
        unclean = _UNCLEAN.search("\n".join(grid))
        if unclean:
            raise Mismatch("clean", f"{unclean[0]!r} on the grid")
        if not self.terminal.modes.get(7, True):
            raise Mismatch("bytes", "autowrap was left off")
        if not overlays:
            self._cursor()
            self._looks()
        if self.terminal.columns >= NARROWEST_FOR_WORDS:
            self._once(grid)
        if self.terminal.columns != self._columns:  # everything is laid out again
            self._columns = self.terminal.columns
            self.forbidden.clear()
        if self.forbidden and not self.forbidden.isdisjoint(words(grid)):
            raise Mismatch("frozen", f"{self.forbidden.intersection(words(grid))} came into a final block")

    def _cursor(self) -> None:
        """At the mark if it is on the grid, otherwise hidden at the last row of the content.

        While the transcript grows and nobody types, and from a resize to the next key, it is hidden where the
        final rows end.
        """
        terminal, top = self.terminal, self.shadow.window_top
        if not terminal.cursor_visible:
            place = len(self.shadow.above) + max(self.last.boundary - top, 0), 0
            if terminal.cursor == place:
                return
        shown = self.rows[top : top + terminal.rows]
        above = len(self.shadow.above)
        place = None
        for at, row in enumerate(shown):
            if CURSOR_MARKER in row:
                place = (above + at, len(plain(row[: row.index(CURSOR_MARKER)] + ".")) - 1)
        if place is None:
            if terminal.cursor[0] != above + max(0, len(shown) - 1):
                raise Mismatch("cursor", f"parked at {terminal.cursor}, not in row {above + len(shown) - 1}")
            if terminal.cursor_visible:
                raise Mismatch("cursor", "visible although nothing is being edited")
        elif terminal.cursor != place or not terminal.cursor_visible:
            raise Mismatch(
                "cursor", f"at {terminal.cursor}, visible {terminal.cursor_visible}, must be at {place}"
            )

    def _looks(self) -> None:
        """Backgrounds extend as far as they should, checked on a few rows that vary between frames."""
        terminal, top = self.terminal, self.shadow.window_top
        shown = self.rows[top : top + terminal.rows]
        places = {(self.frames * 7 + step * 5) % terminal.rows for step in range(_LOOKED_AT)} | {
            len(shown) - 1
        }
        for at in places:
            wanted = cells(shown[at] if 0 <= at < len(shown) else "", terminal.columns)
            if (row := at + len(self.shadow.above)) >= terminal.rows:
                continue
            for column, one in enumerate(wanted):
                if terminal.cell(row, column).bg != one.background:
                    found = terminal.cell(row, column)
                    raise Mismatch("looks", f"row {at} column {column}: {found}, must be {one}")

    def _once(self, grid: Iterable[str]) -> None:
        """Every word is on the tape once, except for those that had to be repeated."""
        counts = Counter(words(grid))
        for word in [*words(self.shadow.chunk), *counts]:
            found = self._in_history[word] + counts[word]
            if found > 1 + self._repeatable[word]:
                raise Mismatch("repeated", f"{word} stands {found} times on the tape")

    def _shell_is_there(self, tape: Iterable[str]) -> None:
        missing = self.shell.difference(tape)
        if missing:
            raise Mismatch("shell", f"{sorted(missing)[:8]} were written by the shell and are gone")

    def _pinned(self) -> None:
        """A user who scrolled up still sees the same rows of the history."""
        if self._reader and self.terminal.pinned_view()[: len(self._reader)] != self._reader:
            raise Mismatch("reader", differing(self._reader, self.terminal.pinned_view()))
