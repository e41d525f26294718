"""Old rows may be dropped from a transcript: the scrollback keeps them once, and nothing shifts."""

import pytest

from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.widgets.text import Text
from tau.tui.widgets.transcript import Transcript
from tests.support.fake_timer import FakeTimer
from tests.support.palettes import PLAIN
from tests.support.terminal.virtual import VirtualTerminal


class Stage:
    def __init__(self, *, multiplexer: bool) -> None:
        self.terminal = VirtualTerminal(40, 10, multiplexer=multiplexer)
        self.timer = FakeTimer()
        self.theme = Theme(PLAIN)
        self.screen = Screen(self.terminal, theme=self.theme, timer=self.timer)
        self.transcript = Transcript()
        self.chrome = Text(self.theme, "chrome")
        self.screen.root.add(self.transcript, self.chrome)
        self.screen.start()

    def add(self, first: int, last: int) -> None:
        for number in range(first, last):
            self.transcript.add(Text(self.theme, f"block {number}\nrow two of {number}"))
            self.screen.request_render()
            self.timer.advance(0.1)

    def drop(self, count: int) -> int:
        rows = self.transcript.drop_first(count, self.screen.stats.ledger.committed)
        self.screen.forget_rows(rows)
        self.timer.advance(0.1)
        return rows

    def blocks(self) -> list[int]:
        return [int(row.split()[1]) for row in self.terminal.tape() if row.startswith("block")]


@pytest.mark.parametrize("multiplexer", (False, True))
def test_scrollback_keeps_dropped_rows_and_continues(multiplexer: bool) -> None:
    stage = Stage(multiplexer=multiplexer)
    stage.add(0, 30)
    before = stage.terminal.tape()
    assert stage.drop(20) == 60 and len(stage.transcript.blocks) == 10
    assert stage.terminal.tape() == before
    stage.add(30, 40)
    assert stage.blocks() == list(range(40))
    stage.drop(15)
    stage.add(40, 45)
    stage.screen.stop()
    assert stage.blocks() == list(range(45))


def test_rows_still_on_screen_are_not_dropped() -> None:
    stage = Stage(multiplexer=False)
    stage.add(0, 5)
    committed = stage.screen.stats.ledger.committed
    rows = stage.drop(100)
    assert 0 < rows <= committed and stage.blocks() == [0, 1, 2, 3, 4]
    assert len(stage.transcript.blocks) == 5 - rows // 3


def test_dropped_rows_occur_once_after_a_resize() -> None:
    stage = Stage(multiplexer=False)
    stage.add(0, 30)
    stage.drop(10)
    stage.timer.advance(1.0)
    stage.terminal.resize(30, 12)
    stage.timer.advance(1.0)
    assert stage.blocks() == list(range(30))
    stage.add(30, 33)
    assert stage.blocks() == list(range(33))
