"""A screen on an in-memory terminal with simple components, for the renderer tests."""

from collections.abc import Sequence
from typing import Any

from tau.tui.component import CURSOR_MARKER, CommitBoundary, Component
from tau.tui.input.key import InputEvent, Key
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.widgets.transcript import Block, Transcript
from tests.support.fake_timer import FakeTimer
from tests.support.terminal.virtual import VirtualTerminal


class Lines(Component):
    """Shows the lines it is given."""

    def __init__(self, *rows: str) -> None:
        self.rows: Sequence[str] = list(rows)

    def render(self, width: int) -> Sequence[str]:
        return self.rows


class Wrapped(Component):
    """One text, cut into rows at the width."""

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self, width: int) -> Sequence[str]:
        return [self.text[at : at + width] for at in range(0, len(self.text), width)]


class Growing(Block):
    """Lines that may change until `finish`."""

    def __init__(self, *rows: str) -> None:
        self.rows: Sequence[str] = list(rows)
        self.done = False

    def add(self, *rows: str) -> None:
        self.rows = [*self.rows, *rows]

    def finish(self) -> None:
        self.done = True

    def is_final(self) -> bool:
        return self.done

    def render(self, width: int) -> Sequence[str]:
        return self.rows


class Field(Component):
    """A line to type in, between two rules."""

    def __init__(self) -> None:
        self.text = ""
        self.seen: list[InputEvent] = []

    def render(self, width: int) -> Sequence[str]:
        mark = CURSOR_MARKER if self.focused else ""
        return ["=" * width, f"> {self.text}{mark}"[: width + len(mark)], "=" * width]

    def handle_input(self, event: InputEvent) -> bool:
        self.seen.append(event)
        if isinstance(event, Key) and event.name == "backspace":
            self.text = self.text[:-1]
            return True
        if isinstance(event, Key) and event.text:
            self.text += event.text
            return True
        return False

    def commit_boundary(self) -> CommitBoundary:
        return CommitBoundary(0)


class RenderRig:
    """A transcript above a field, on a small terminal; time passes only when told."""

    def __init__(self, columns: int = 30, rows: int = 8, *, shell: str = "", **options: Any) -> None:
        linear = options.pop("linear", False)
        hardware_cursor = options.pop("hardware_cursor", True)
        self.terminal = VirtualTerminal(columns, rows, **options)
        self.terminal.feed(shell)
        self.timer = FakeTimer()
        self.screen = Screen(
            self.terminal, theme=Theme({}, linear=linear), timer=self.timer, hardware_cursor=hardware_cursor
        )
        self.transcript = Transcript(spacing=0)
        self.field = Field()
        self.screen.root.add(self.transcript, self.field)
        self.screen.focus(self.field)

    def start(self) -> "RenderRig":
        self.screen.start()
        self.pass_time()
        return self

    def pass_time(self, seconds: float = 1.0) -> None:
        self.timer.advance(seconds)

    def draw(self) -> None:
        """Everything requested, and one more frame."""
        self.screen.request_render()
        self.pass_time()

    def say(self, first: int, last: int) -> None:
        """Numbered lines, final at once."""
        self.transcript.add(Lines(*numbered(first, last)))
        self.draw()

    @property
    def tape(self) -> list[str]:
        return self.terminal.tape()

    @property
    def record(self) -> list[str]:
        """The tape without the trailing field."""
        return self.tape[: self.tape.index("=" * self.terminal.columns)]

    @property
    def written(self) -> str:
        """What the last frame wrote."""
        return self.terminal.writes[-1] if self.terminal.writes else ""


def numbered(first: int, last: int) -> list[str]:
    return [f"line {number}" for number in range(first, last + 1)]
