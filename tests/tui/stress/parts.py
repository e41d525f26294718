"""The components of the gate: passages of unique words, and chrome around them."""

import struct
from binascii import crc32
from collections.abc import Sequence

from tau.tui.component import CURSOR_MARKER, CommitBoundary, Component
from tau.tui.input.key import InputEvent, Key
from tau.tui.widgets.image import Image
from tau.tui.widgets.transcript import Block
from tests.tui.stress.content import Line, rows_of


class Passage(Block):
    """A block of lines that grows, changes and ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[Line] = []
        self.final = False
        self.final_since = 0
        """How many frames there were when it became final."""
        self.rude = False
        self.shaded = False
        self.steady = False
        """Whether it declares that all lines but the last are stable."""
        self._steady_rows = 0
        self._numbers = 0
        self._rows: tuple[int, Sequence[str]] | None = None

    def next_number(self) -> int:
        """Line numbers are never reused, even for a replacement."""
        self._numbers += 1
        return self._numbers

    def is_final(self) -> bool:
        return self.final

    def changed(self) -> None:
        """Called after each change: the next rows are a new object."""
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        if self._rows is None or self._rows[0] != width:
            rows = [row for line in self.lines for row in rows_of(line, width)]
            self._steady_rows = sum(len(rows_of(line, width)) for line in self.lines[:-1])
            if self.shaded:
                rows = [f"\x1b[48;5;22m{' ' * width}\x1b[49m", *rows]
            if self.rude:
                rows.append(f"({self.name}" + "=" * (2 * width))
            self._rows = (width, rows)
        return self._rows[1]

    def invalidate(self) -> None:
        self._rows = None

    def commit_boundary(self) -> CommitBoundary | None:
        return CommitBoundary(self._steady_rows) if self.steady else None


class Picture(Passage):
    """A picture with lines below it."""

    def __init__(self, name: str, image: Image) -> None:
        super().__init__(name)
        self._image = image

    def render(self, width: int) -> Sequence[str]:
        return [*self._image.render(width), *super().render(width)]


def png(columns: int, rows: int) -> bytes:
    """A picture that takes about so many cells."""
    size = struct.pack(">II", columns * 9, rows * 18)
    chunks = [(b"IHDR", size + b"\x08\x00\x00\x00\x00"), (b"IDAT", b"x"), (b"IEND", b"")]
    body = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))
        for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


class Field(Component):
    """An input that grows with its text and shows the cursor."""

    def __init__(self) -> None:
        self.text = ""
        self._seen: tuple[tuple[str, int, bool], Sequence[str]] | None = None

    def render(self, width: int) -> Sequence[str]:
        key = (self.text, width, self.focused)
        if self._seen is None or self._seen[0] != key:
            whole = "> " + self.text
            rows = [whole[at : at + width] for at in range(0, len(whole), width)]
            if len(rows[-1]) == width:
                rows.append("")
            if self.focused:
                rows[-1] += CURSOR_MARKER
            self._seen = (key, rows)
        return self._seen[1]

    def handle_input(self, event: InputEvent) -> bool:
        if not isinstance(event, Key):
            return False
        if event.name == "backspace":
            self.text = self.text[:-1]
        self.text += event.text
        return True


class Status(Component):
    """One row with a background up to the last column."""

    def __init__(self) -> None:
        self.text = "ready"
        self._seen: tuple[tuple[str, int], Sequence[str]] | None = None

    def render(self, width: int) -> Sequence[str]:
        key = (self.text, width)
        if self._seen is None or self._seen[0] != key:
            self._seen = (key, [f"\x1b[7m\x1b[48;5;60m{self.text[:width].ljust(width)}\x1b[49m\x1b[27m"])
        return self._seen[1]


class Spinner(Component):
    """A spinner row, or nothing."""

    def __init__(self) -> None:
        self.turn = 0
        self.shown = False
        self._seen: tuple[tuple[int, bool], Sequence[str]] | None = None

    def render(self, width: int) -> Sequence[str]:
        key = (self.turn, self.shown)
        if self._seen is None or self._seen[0] != key:
            self._seen = (key, ["|/-\\"[self.turn % 4]] if self.shown else [])
        return self._seen[1]


PANEL_START, PANEL_END = "«", "»"


class Panel(Component):
    """The content of an overlay: its words must never reach the history."""

    def __init__(self, name: str, rows: int) -> None:
        self._names = [f"{name}.{row}" for row in range(rows)]

    def render(self, width: int) -> Sequence[str]:
        inside = max(0, width - 2)
        rows = [f"{PANEL_START}{name[:inside].ljust(inside)}{PANEL_END}"[-width:] for name in self._names]
        return [f"\x1b[45m{row}\x1b[49m" for row in rows]
