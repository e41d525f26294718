"""Resizes at rest and while an answer streams: real terminals keep every line once, and the shell's lines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.tui.terminal.port import Capabilities
from tests.support.soak import is_soaking, seeds
from tests.support.terminal.virtual import Habits
from tests.tui.second_opinion.answers import KINDS, SHELL_LINES, Plan, judge, recorded
from tests.tui.second_opinion.kitty import play_in_kitty
from tests.tui.second_opinion.recording import Tape, play, tape_of
from tests.tui.second_opinion.tmux import Tmux
from tests.tui.second_opinion.xterm import Xterm

MOST_REPEATED = 2


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


def logical_rows(tape: Tape) -> list[str]:
    """Rows that the terminal wrapped are one."""
    rows: list[str] = []
    for at, row in enumerate(tape.rows):
        if tape.wrapped and tape.wrapped[at] and rows:
            rows[-1] += row
        else:
            rows.append(row)
    return rows


def assert_each_line_once(tape: Tape) -> None:
    assert_judged(logical_rows(tape))


def assert_judged(rows: list[str]) -> None:
    outcome = judge(rows)
    assert outcome.missing == []
    assert len(outcome.repeated) <= MOST_REPEATED, outcome.repeated
    assert outcome.shell == SHELL_LINES
    assert outcome.statuses == 0
    assert outcome.is_ordered


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("resizes", (20, pytest.param(50, marks=pytest.mark.soak)))
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_every_line_of_a_streaming_answer_is_there_once_in_xterm_js(
    xterm: Xterm, kind: str, resizes: int, seed: int
) -> None:
    plan = Plan(kind, seed, resizes)
    recording = recorded(plan, Capabilities(synchronized_output=True, cursor_follows_text=False))
    assert_each_line_once(xterm.play(recording, reflow_cursor_line=False))


@pytest.mark.parametrize("kind", ("lines", "prose", "table"))
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_every_line_of_an_answer_at_rest_is_there_once_in_xterm_js(
    xterm: Xterm, kind: str, seed: int
) -> None:
    plan = Plan(kind, seed, 50 if is_soaking() else 20, streaming=False)
    recording = recorded(plan, Capabilities(synchronized_output=True, cursor_follows_text=False))
    assert_each_line_once(xterm.play(recording, reflow_cursor_line=False))


@pytest.mark.parametrize("kind", ("prose", "code", "table"))
@pytest.mark.parametrize("streaming", (True, False))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_every_line_of_an_answer_is_there_once_in_tmux(
    tmux: Tmux, kind: str, streaming: bool, seed: int
) -> None:
    plan = Plan(kind, seed, 20, streaming=streaming, latest=8)
    assert_each_line_once(tmux.play(recorded(plan, Capabilities(multiplexer=True)), joined=True))


MARKED = Capabilities(synchronized_output=True, erases_marked_rows=True)


@pytest.mark.parametrize("streaming", (True, False))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_every_line_of_an_answer_is_there_once_in_kitty(streaming: bool, seed: int) -> None:
    plans = [Plan(kind, seed, 20, streaming=streaming) for kind in ("lines", "code", "table")]
    for rows in play_in_kitty([recorded(plan, MARKED) for plan in plans]):
        assert_judged(rows)


@pytest.mark.parametrize("kind", ("lines", "prose", "code", "table"))
@pytest.mark.parametrize("streaming", (True, False))
def test_every_line_is_there_once_in_a_terminal_that_erases_marked_rows(kind: str, streaming: bool) -> None:
    habits = Habits(takes_back="never", erases_marked_rows=True)
    recording = recorded(Plan(kind, 1, 20, streaming=streaming), MARKED, habits=habits)
    assert_each_line_once(tape_of(play(recording, habits)))


def test_keys_typed_while_an_answer_streams_lose_no_line(xterm: Xterm) -> None:
    plan = Plan("prose", 3, 20, typing=True)
    recording = recorded(plan, Capabilities(synchronized_output=True, cursor_follows_text=False))
    outcome = judge(logical_rows(xterm.play(recording, reflow_cursor_line=False)))
    assert outcome.missing == []
    assert outcome.shell == SHELL_LINES
