"""Whatever size the terminal takes while lines stream in, they are in its scrollback in order."""

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities
from tests.support.fake_timer import FakeTimer
from tests.support.limits import HANG_S
from tests.support.soak import seeds
from tests.support.terminal.emulator.resize import TakesBack
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.second_opinion.recording import LIKE_TMUX, LIKE_XTERM_JS, Recording, tape_of
from tests.tui.second_opinion.recording import play as replay
from tests.tui.second_opinion.tmux import Tmux
from tests.tui.second_opinion.xterm import Xterm
from tests.tui.stress import stream_program
from tests.tui.stress.content import AGREED_FILLERS, words
from tests.tui.stress.mismatch import differing
from tests.tui.stress.operations import make_operations
from tests.tui.stress.play import play
from tests.tui.stress.rig import SHELL, Rig
from tests.tui.stress.shapes import SHAPES, Shape
from tests.tui.stress.stream_program import furnish

LINES = 300
RESIZES = 50
PANE_RESIZES = 20
LIMIT_S = HANG_S
NUMBER = re.compile(r"\[a\.(\d+)\.0\]")


def numbers(rows: list[str]) -> list[int]:
    return [int(number) for number in NUMBER.findall("".join(rows))]


class Streaming:
    """A screen on which lines stream in while its terminal is resized."""

    def __init__(self, terminal: VirtualTerminal, seed: int) -> None:
        self.terminal = terminal
        self.timer = FakeTimer()
        self.random = Random(seed)
        theme = Theme({})
        self.screen = Screen(terminal, theme=theme, timer=self.timer)
        self.stream, _, _ = furnish(self.screen, theme)
        self.screen.start()

    def run(self, after_resize: Callable[[], None] = lambda: None, within: range = range(LINES)) -> None:
        """Stream all lines, resizing at the named ones."""
        steps = {*self.random.sample(within, RESIZES)}
        for step in range(LINES):
            self.stream.next()
            self.screen.request_render()
            self.timer.advance(self.random.choice((0.005, 0.04)))
            if step in steps:
                self.terminal.resize(self.random.randint(14, 120), self.random.randint(3, 40))
                if self.random.random() < 0.7:  # otherwise lines keep coming before it is drawn
                    self.timer.advance(1)
                    after_resize()
        self.timer.advance(1)


def assert_in_order(rows: list[str]) -> None:
    """Every line is there, and the last copies of them are in order."""
    last = {number: at for at, number in enumerate(numbers(rows))}
    places = [last[number] for number in range(LINES)]
    assert places == sorted(places)


@pytest.mark.parametrize("takes_back", ["always", "at the bottom", "never"])
@pytest.mark.parametrize("reflow", [True, False], ids=["reflowing", "not-reflowing"])
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_no_line_is_lost_in_resizes_or_at_the_end(seed: int, reflow: bool, takes_back: TakesBack) -> None:
    run = Streaming(VirtualTerminal(80, 24, reflow=reflow, takes_back=takes_back), seed)
    run.run()
    run.stream.end()
    run.screen.request_render()
    run.timer.advance(1)
    assert_in_order(run.terminal.tape())
    run.screen.stop()
    assert_in_order(run.terminal.tape())


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_transcript_stopped_while_streaming_is_complete(seed: int) -> None:
    run = Streaming(VirtualTerminal(80, 24), seed)
    run.run()
    run.screen.stop()
    assert_in_order(run.terminal.tape())


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_in_a_multiplexer_nothing_is_lost_and_only_resized_parts_repeat(seed: int) -> None:
    pane = VirtualTerminal(
        80, 24, multiplexer=True, capabilities=Capabilities(multiplexer=True), habits=LIKE_TMUX
    )
    run = Streaming(pane, seed)
    run.run(within=range(120, 200))
    run.screen.stop()
    standing = Counter(numbers(run.terminal.tape()))
    assert set(standing) == set(range(LINES))
    far = [*range(60), *range(250, LINES)]
    assert {line: standing[line] for line in far} == dict.fromkeys(far, 1)


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_in_a_multiplexer_constant_resizes_lose_nothing(seed: int) -> None:
    capabilities = Capabilities(multiplexer=True)
    run = Streaming(VirtualTerminal(80, 24, capabilities=capabilities, habits=LIKE_TMUX), seed)
    run.run()
    run.screen.stop()
    assert set(numbers(run.terminal.tape())) == set(range(LINES))


@pytest.fixture(scope="module")
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tmux]:
    server = Tmux(tmp_path_factory.mktemp("tmux"))
    yield server
    server.close()


def wait_for(pane: Callable[[], list[str]], *texts: str) -> list[str]:
    """The rows of a pane as soon as they contain one of these."""
    end = time.monotonic() + LIMIT_S
    while True:
        rows = pane()
        shown = "\n".join(rows)
        if any(text in shown for text in texts):
            return rows
        assert time.monotonic() < end, f"{texts} did not come; there is:\n" + "\n".join(rows[-40:])
        time.sleep(0.02)


def test_program_in_a_real_tmux_loses_no_line_while_its_pane_is_resized(tmux: Tmux, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = f"cd {root} && exec {sys.executable} {stream_program.__file__} {LINES} 5"
    tmux._run("new-session", "-d", "-s", "stream", "-x", "80", "-y", "24", command)
    tmux._run("set-option", "-t", "stream", "remain-on-exit", "on")

    def pane() -> list[str]:
        return tmux._run("capture-pane", "-p", "-t", "stream", "-S", "-").split("\n")

    random = Random(3)
    rows = wait_for(pane, "[a.3.0]")
    for _ in range(PANE_RESIZES):
        size = ("-x", str(random.randint(20, 120)), "-y", str(random.randint(5, 40)))
        tmux._run("resize-window", "-t", "stream", *size)
        if random.random() < 0.5:
            rows = wait_for(pane, f"[a.{max(numbers(rows)) + 8}.0]", stream_program.DONE)
    wait_for(pane, stream_program.DONE)
    tmux._run("send-keys", "-t", "stream", "q")
    rows = wait_for(pane, "after the end")
    tmux._run("kill-session", "-t", "stream")
    assert set(numbers(rows)) == set(range(LINES))


def recorded(shape: Shape, seed: int) -> tuple[Rig, Recording]:
    """The bytes and sizes of a run of the gate."""
    rig = Rig(shape, seed, AGREED_FILLERS)
    rig.terminal.events = [("write", "\r\n".join(SHELL) + "\r\n")]
    play(rig, make_operations(seed, 100))
    return rig, Recording(shape.columns, shape.rows, rig.terminal.events)


@pytest.fixture(scope="module")
def xterm() -> Iterator[Xterm]:
    process = Xterm()
    yield process
    process.close()


@pytest.mark.parametrize("name", ["normal", "tiny", "plain"])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_recorded_bytes_give_the_same_scrollback_in_xterm_js(xterm: Xterm, seed: int, name: str) -> None:
    """At a constant width, since xterm.js treats rows below the cursor differently."""
    shape = SHAPES[name]
    (_, least), (_, most) = shape.sizes
    shape = shape._replace(sizes=((shape.columns, least), (shape.columns, most)))
    _, recording = recorded(shape, seed)
    ours, theirs = tape_of(replay(recording, LIKE_XTERM_JS)), xterm.play(recording)
    assert ours.rows == theirs.rows, differing(ours.rows, theirs.rows)
    assert (ours.history, ours.cursor) == (theirs.history, theirs.cursor)


@pytest.mark.parametrize("name", ["normal", "tiny", "plain"])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_no_recorded_word_is_lost_in_xterm_js_at_other_widths(xterm: Xterm, seed: int, name: str) -> None:
    rig, recording = recorded(SHAPES[name], seed)
    record = set(words(rig.judge.last.rows)) - rig.judge.stale
    for reflow_cursor_line in (True, False):
        tape = xterm.play(recording, reflow_cursor_line=reflow_cursor_line)
        assert record <= set(words(tape.rows))


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_recorded_bytes_give_the_same_scrollback_in_tmux(tmux: Tmux, seed: int) -> None:
    """At a constant width, since tmux treats erased cells differently at another one."""
    mux = SHAPES["mux"]
    shape = mux._replace(sizes=((mux.columns, 8), (mux.columns, 22)))
    _, recording = recorded(shape, seed)
    ours, theirs = tape_of(replay(recording, LIKE_TMUX)), tmux.play(recording)
    assert ours.rows == theirs.rows, differing(ours.rows, theirs.rows)
    assert (ours.history, ours.cursor) == (theirs.history, theirs.cursor)


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_no_recorded_word_is_lost_in_tmux_at_other_widths(tmux: Tmux, seed: int) -> None:
    rig, recording = recorded(SHAPES["mux"], seed)
    record = set(words(rig.judge.last.rows)) - rig.judge.stale
    assert record <= set(words(tmux.play(recording).rows))
