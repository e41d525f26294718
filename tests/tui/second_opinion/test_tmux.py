"""Fixed cases give the same rows in our emulator, as a pane, and in a real tmux."""

from collections.abc import Iterator

import pytest

from tests.tui.second_opinion.recording import LIKE_TMUX, Event, Recording, play, tape_of
from tests.tui.second_opinion.tmux import Tmux

LINES = "".join(f"line {number}\r\n" for number in range(12))
LONG = "0123456789abcdefghij and more text that wraps\r\n"


@pytest.fixture(scope="module")
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tmux]:
    server = Tmux(tmp_path_factory.mktemp("tmux"))
    yield server
    server.close()


def write(text: str) -> Event:
    return ("write", text)


def resize(columns: int, rows: int) -> Event:
    return ("resize", columns, rows)


CASES = {
    "rows scroll into the history": Recording(20, 5, [write(LINES)]),
    "a cleared screen goes into the history": Recording(20, 5, [write(LINES + "\x1b[2J")]),
    "only used rows of it": Recording(20, 5, [write("a\r\nb\x1b[2J")]),
    "erasing down from the top too": Recording(20, 5, [write("a\r\nb\x1b[H\x1b[J")]),
    "erasing down from elsewhere not": Recording(20, 5, [write("a\r\nb\r\nc\x1b[2H\x1b[J")]),
    "ED 3 clears the history": Recording(20, 5, [write(LINES + "\x1b[3J")]),
    "ED 22 means nothing": Recording(20, 5, [write("a\r\nb\x1b[22J")]),
    "scrolling up": Recording(20, 5, [write(LINES + "\x1b[2S")]),
    "a region in the middle": Recording(20, 6, [write(LINES + "\x1b[2;4r\x1b[4H\r\nx\r\ny")]),
    "a region at the top": Recording(20, 6, [write(LINES + "\x1b[1;4r\x1b[4H\r\nx\r\ny")]),
    "deleted rows": Recording(20, 6, [write(LINES + "\x1b[H\x1b[2M")]),
    "erasing behind a full row": Recording(10, 4, [write("0123456789\x1b[Kx")]),
    "a new line behind a full row": Recording(10, 4, [write("0123456789\r\nx")]),
    "reverse index": Recording(20, 5, [write(LINES + "\x1b[H\x1bM\x1bMtop")]),
    "wide characters at the edge": Recording(5, 4, [write("abcd日本x\r\n")]),
    "marks and emoji": Recording(12, 4, [write("e\u0301 日本 👍 ─\r\n")]),
    "edits in a row": Recording(20, 3, [write("abcdefgh\x1b[1;3H\x1b[2P\x1b[3@\x1b[1;9H\x1b[2X\x1b[1K")]),
    "the alternate screen": Recording(20, 3, [write(LINES + "\x1b[?1049h" + LINES + "\x1b[?1049lback")]),
    "higher": Recording(20, 5, [write(LINES + "abc"), resize(20, 8), write("def")]),
    "higher with the cursor above": Recording(
        20, 5, [write(LINES + "\x1b[2;3H"), resize(20, 8), write("def")]
    ),
    "higher after clearing": Recording(20, 5, [write(LINES + "\x1b[2J\x1b[H$"), resize(20, 8), write("def")]),
    "lower": Recording(20, 8, [write(LINES + "abc"), resize(20, 4), write("def")]),
    "lower with the cursor above": Recording(
        20, 8, [write(LINES + "\x1b[2;3H"), resize(20, 4), write("def")]
    ),
    "narrower": Recording(20, 5, [write(LONG * 3 + "abc"), resize(10, 5), write("def")]),
    "narrower with few rows": Recording(20, 8, [write(LONG + "abc"), resize(10, 8), write("def")]),
    "wider": Recording(10, 5, [write(LONG * 3 + "abc"), resize(30, 5), write("def")]),
    "all of it": Recording(
        20,
        8,
        [write(LONG * 5 + "abc"), resize(10, 5), write("def"), resize(33, 12), write("ghi"), resize(7, 3)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pane_has_the_same_rows_and_history(tmux: Tmux, name: str) -> None:
    ours, theirs = tape_of(play(CASES[name], LIKE_TMUX)), tmux.play(CASES[name])
    assert (ours.rows, ours.history) == (theirs.rows, theirs.history)
