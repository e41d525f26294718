"""A screen with an application, driven by operations and checked after each of them."""

from collections.abc import Callable
from random import Random

from tau.tui.images.budget import ImageBudget
from tau.tui.images.marks import image_rows
from tau.tui.render.screen import Overlay, Screen
from tau.tui.style import Theme
from tau.tui.widgets.image import Image
from tau.tui.widgets.transcript import Transcript
from tests.support.fake_timer import FakeTimer
from tests.tui.stress.content import FILLERS, Fillers, Line, make_line
from tests.tui.stress.judge import Judge
from tests.tui.stress.parts import Field, Passage, Picture, Spinner, Status, png
from tests.tui.stress.shapes import Shape
from tests.tui.stress.watch import ComponentRecorder, HeardTerminal

FRAME_S = 0.05
"""Longer than the shortest time between two frames."""
SETTLE_S = 1.0
"""Longer than any pause after a resize."""
SHELL = ["$ ls", "one  two", "$ tau"]


class Rig:
    """Everything that an operation may touch."""

    def __init__(self, shape: Shape, seed: int = 0, fillers: Fillers = FILLERS) -> None:
        self.shape = shape
        self.seed = seed
        self.fillers = fillers
        self.timer = FakeTimer()
        self.terminal = HeardTerminal(
            shape.columns,
            shape.rows,
            reflow=shape.reflow,
            takes_back=shape.takes_back,
            multiplexer=shape.multiplexer,
            capabilities=shape.capabilities,
        )
        self.terminal.feed("\r\n".join(SHELL) + "\r\n")
        image_rows.__init__()  # type: ignore[misc]  # it is shared by all screens of a process
        self.budget = ImageBudget(limit=3)
        self.theme = Theme({})
        self.screen = Screen(self.terminal, theme=self.theme, timer=self.timer)
        self.transcript = Transcript()
        self.spinner, self.field, self.status = Spinner(), Field(), Status()
        self.passages: list[Passage] = []
        self.overlays: list[Overlay] = []
        self.names = 0
        self.replaced = False
        self.pending = False
        self.seen = ComponentRecorder()
        self.children = (self.transcript, self.spinner, self.field, self.status)
        for child in self.children:
            self.seen.watch(child)
            self.screen.root.add(child)
        self.judge = Judge(self.terminal, self.seen, shape, SHELL)

    def start(self) -> None:
        self.screen.focus(self.field)
        self.screen.start()
        self.frame()
        if self.seed % 2:  # while the shell's lines are still above
            self.end(self.begin(3))
            self.screen.request_render()
            self.frame()
            self.resize((self.shape.sizes[0][0], self.shape.rows), rested=True)

    def frame(self) -> None:
        """Draw one frame, and check it."""
        self.pending = False
        self.timer.advance(FRAME_S)
        replaced, self.replaced = self.replaced, False
        self.judge.frame(self.children, replaced, self.shown_overlays())

    def outside(self, happens: Callable[[], None], frames: int = 1) -> None:
        """Do something that takes the terminal away for a moment, and check the frame after it."""
        if self.pending:
            self.frame()
        happens()
        self.timer.advance(SETTLE_S)
        stats = self.screen.stats
        ledger = (stats.ledger.committed, stats.ledger.window_top)
        self.judge.after_outside(self.children, ledger, self.shown_overlays(), frames)

    def stop(self) -> None:
        """The end: everything final must be readable then."""
        if self.pending:
            self.frame()
        while self.overlays:
            self.overlays.pop().hide()
        self.frame()
        self.screen.stop()
        self.judge.after_leaving(len(self.seen.rows_of(self.transcript)))
        self.judge.at_the_end()

    def shown_overlays(self) -> int:
        return sum(1 for overlay in self.overlays if not overlay.hidden)

    def name(self) -> str:
        self.names += 1
        return f"b{self.names}"

    def live(self, number: int) -> Passage | None:
        """One of the passages that may still change."""
        found = [passage for passage in self.passages if not passage.final]
        return found[number % len(found)] if found else None

    def new_line(self, passage: Passage, longest: int = 12) -> Line:
        return make_line(self.seed, passage.name, passage.next_number(), longest, self.fillers)

    def begin(self, lines: int) -> Passage:
        """A block that may still change."""
        passage = Passage(self.name())
        manners = Random(f"{self.seed} {passage.name}").random()
        passage.rude, passage.shaded, passage.steady = manners < 0.05, 0.6 < manners < 0.7, manners > 0.7
        self.grow(passage, lines)
        self.passages.append(passage)
        self.transcript.add(passage)
        return passage

    def grow(self, passage: Passage, lines: int) -> None:
        passage.lines += [self.new_line(passage) for _ in range(lines)]
        passage.changed()

    def end(self, passage: Passage) -> None:
        """It is final from now on."""
        passage.final, passage.final_since = True, self.judge.frames

    def is_frozen(self, passage: Passage) -> bool:
        """Whether it was drawn while final, and nothing above it may still change."""
        above = self.passages[: self.passages.index(passage) + 1]
        return all(one.final and one.final_since < self.judge.frames for one in above)

    def remove_last(self) -> None:
        """Remove the last block, final or not."""
        if self.passages:
            self.passages.pop()
            self.transcript.remove_last()

    def show_image(self, columns: int, rows: int) -> None:
        """A picture and a line; old ones are evicted for it."""
        image = Image(
            self.theme,
            png(columns, rows),
            protocol=self.shape.images,
            budget=self.budget,
            alt="a picture",
            placeholders=self.shape.placeholders,
        )
        picture = Picture(self.name(), image)
        self.grow(picture, 1)
        self.end(picture)
        self.passages.append(picture)
        self.transcript.add(picture)

    def resize(self, *sizes: tuple[int, int], rested: bool = False) -> None:
        """The terminal takes other sizes before anything is drawn, and behaves as it likes then.

        `rested`: nothing was written for a while.
        """
        if all(size == (self.terminal.columns, self.terminal.rows) for size in sizes):
            return

        def happens() -> None:
            if rested:
                self.timer.advance(SETTLE_S)
            for columns, rows in sizes:
                self.terminal.resize(columns, rows)

        self.outside(happens)

    def resize_unnoticed(self, columns: int, rows: int, frames: int, lines: int) -> None:
        """The terminal already has another size while frames for the old one are written.

        tmux notifies a program up to a quarter of a second late.
        """
        if (columns, rows) == (self.terminal.columns, self.terminal.rows):
            return
        if self.judge.last.boundary < len(self.judge.shadow.committed):
            return  # additions to final rows need not be shown, and nobody would notice which

        def happens() -> None:
            with self.terminal.resized_silently(columns, rows):
                for _ in range(frames):
                    self.stream_on(lines)
                    self.timer.advance(FRAME_S)

        self.outside(happens, frames=1 + frames)

    def stream_on(self, lines: int) -> None:
        """More lines at the end of what is being written."""
        self.grow(self.live(-1) or self.begin(0), lines)
        self.screen.request_render()

    def leave(self, lines: int) -> None:
        """Back to the shell, which prints something, and return."""
        self.screen.suspend()
        self.judge.after_leaving(self.judge.last.boundary)
        self.names += 1
        texts = [f"[s{self.names}.{line}.0]" for line in range(lines)]
        self.terminal.feed("".join(line + "\r\n" for line in texts))
        self.judge.shadow.printed(texts, self.terminal.rows)
        self.judge.shell.update(texts)
        self.screen.resume()
