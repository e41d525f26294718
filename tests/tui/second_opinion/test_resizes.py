"""Fifty resizes while lines stream in: real terminals lose no line, nor earlier shell output."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities
from tests.support.fake_timer import FakeTimer
from tests.support.soak import seeds
from tests.tui.second_opinion.recording import Recording, RecordingTerminal, Tape
from tests.tui.second_opinion.tmux import Tmux
from tests.tui.second_opinion.xterm import Xterm
from tests.tui.stress.stream_program import furnish

SHELL = [f"$ {number}" for number in range(40)]
LINES = 300
RESIZES = 50
_NUMBER = re.compile(r"\[a\.(\d+)\.0\]")


def recorded(seed: int, capabilities: Capabilities, *, rested: bool = False) -> Recording:
    """What is written to a terminal of changing size; `rested`: it is resized only in pauses."""
    random = Random(seed)
    terminal = RecordingTerminal(60, 16, capabilities=capabilities)
    terminal.write("".join(f"{line}\r\n" for line in SHELL))
    timer = FakeTimer()
    screen = Screen(terminal, theme=Theme({}), timer=timer)
    stream, _, _ = furnish(screen, Theme({}))
    screen.start()
    for number in range(LINES):
        stream.next()
        screen.request_render()
        timer.advance(0.05)
        if number % (LINES // RESIZES) == 0:
            timer.advance(1 if rested else 0)
            for _ in range(random.choice((1, 1, 3))):
                terminal.resize(random.randint(24, 90), random.randint(5, 30))
            timer.advance(0.2)
    stream.end()
    screen.request_render()
    timer.advance(1)
    screen.stop()
    return terminal.recording


def repeats(tape: Tape) -> int:
    """Repeated lines; each must occur at least once, the last copies in order."""
    rows = "\n".join(tape.rows)
    assert [row for row in tape.rows if row.startswith("$ ")] == SHELL
    found = [int(number) for number in _NUMBER.findall(rows)]
    last = {number: at for at, number in enumerate(found)}
    assert set(last) == set(range(LINES))
    places = [last[number] for number in range(LINES)]
    assert places == sorted(places)
    return sum(count - 1 for count in Counter(found).values())


@pytest.fixture(scope="module")
def xterm() -> Iterator[Xterm]:
    process = Xterm()
    yield process
    process.close()


@pytest.fixture(scope="module")
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tmux]:
    server = Tmux(Path(tmp_path_factory.mktemp("tmux")))
    yield server
    server.close()


@pytest.mark.parametrize("rested", (True, False))
@pytest.mark.parametrize("reflows", (True, False))
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_nothing_is_lost_in_xterm_js(xterm: Xterm, seed: int, reflows: bool, rested: bool) -> None:
    recording = recorded(seed, Capabilities(reflows=reflows, resize_lag_s=0.12), rested=rested)
    for reflow_cursor_line in (True, False):
        tape = xterm.play(recording, reflow_cursor_line=reflow_cursor_line)
        assert repeats(tape) < RESIZES * (3 if reflows and rested else 12)


@pytest.mark.parametrize("rested", (True, False))
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_nothing_is_lost_in_tmux(tmux: Tmux, seed: int, rested: bool) -> None:
    tape = tmux.play(recorded(seed, Capabilities(multiplexer=True, reflows=True), rested=rested))
    assert repeats(tape) < RESIZES * (3 if rested else 12)
