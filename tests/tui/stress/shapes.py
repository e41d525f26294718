"""The terminals that the gate runs on."""

from random import Random
from typing import NamedTuple

from tau.tui.terminal.port import Capabilities, ImageProtocol
from tests.support.terminal.emulator.resize import TakesBack


class Shape(NamedTuple):
    """A terminal's size and habits, and the sizes it may take later."""

    name: str
    columns: int
    rows: int
    sizes: tuple[tuple[int, int], tuple[int, int]]
    """The smallest and the largest size of a resize."""
    reflow: bool = True
    takes_back: TakesBack = "at the bottom"
    known: bool = True
    """Whether the engine knows that it reflows its content."""
    multiplexer: bool = False
    sync: bool = True
    images: ImageProtocol = "none"
    placeholders: bool = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            synchronized_output=self.sync,
            multiplexer=self.multiplexer,
            color_depth="truecolor",
            hyperlinks=True,
            images=self.images,
            kitty_placeholders=self.placeholders,
            reflows=self.reflow or not self.known,
        )

    def size(self, one: int, two: int) -> tuple[int, int]:
        (least_columns, least_rows), (most_columns, most_rows) = self.sizes
        random = Random(one * 1000 + two)
        columns = random.randint(least_columns, most_columns)
        rows = random.randint(least_rows, most_rows)
        return (columns, rows) if one % 3 else (columns, self.rows) if one % 2 else (self.columns, rows)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("normal", 80, 24, ((40, 10), (100, 30)), images="kitty"),
        Shape("tiny", 20, 6, ((14, 2), (26, 8)), known=False),
        Shape(
            "wide",
            200,
            50,
            ((120, 20), (220, 60)),
            takes_back="never",
            images="kitty",
            placeholders=True,
        ),
        Shape("mux", 60, 15, ((30, 8), (80, 22)), multiplexer=True, sync=False),
        Shape("stiff", 50, 12, ((24, 4), (70, 20)), reflow=False, takes_back="always", images="iterm2"),
        Shape("bare", 44, 14, ((22, 3), (64, 24)), reflow=False, takes_back="never", sync=False),
        Shape("plain", 40, 10, ((20, 4), (60, 16)), takes_back="always", sync=False),
        Shape("modest", 34, 9, ((18, 3), (50, 18)), takes_back="never", known=False),
    )
}
