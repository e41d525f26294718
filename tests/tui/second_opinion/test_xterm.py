"""Random streams give the same rows in our emulator and in xterm.js.

Excluded are the quirks of xterm.js: wide characters without autowrap (it leaves halves of them), saved
cursors (they scroll with the text), a width change with text below the cursor (it may get lost), the cursor
after such a change (its column does not follow the text), and the style of leftover character halves.
"""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.second_opinion.recording import LIKE_XTERM_JS, Event, Recording, play, tape_of
from tests.tui.second_opinion.xterm import Xterm

SIZES = st.tuples(st.integers(4, 30), st.integers(3, 10))
NARROW = st.text(alphabet=st.sampled_from([*"abcd e─é"]), min_size=1, max_size=40)
WIDE = st.lists(st.sampled_from([*"abcd e─é日本👍", "a\u0301"]), min_size=1, max_size=40).map("".join)
SMALL = st.integers(0, 6)
CONTROLS = st.sampled_from(["\r\n", "\r\n", "\n", "\r", "\b", "\t"])
MOVES = st.builds("\x1b[{}{}".format, SMALL, st.sampled_from([*"ABCDEFGHd`aeIZ"]))
PLACES = st.builds("\x1b[{};{}H".format, st.integers(1, 10), st.integers(1, 30))
ERASURES = st.sampled_from(["\x1b[J", "\r\x1b[1J", "\x1b[2J", "\x1b[3J", "\x1b[K", "\x1b[1K", "\x1b[2K"])
EDITS = st.builds("\x1b[{}{}".format, SMALL, st.sampled_from([*"@PLMXST"]))
REGIONS = st.builds("\x1b[{};{}r".format, st.integers(0, 10), st.integers(0, 10))
ESCAPES = st.sampled_from(
    ["\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b[3g", "\x1b[4h", "\x1b[4l", "\x1b(0", "\x1b(B"]
)
COLOURS = st.sampled_from(
    [
        "\x1b[0m",
        "\x1b[1;31m",
        "\x1b[42m",
        "\x1b[38;5;200m",
        "\x1b[48:2::1:2:3m",
        "\x1b[7;4m",
        "\x1b[27;22m",
        "\x1b[95m",
    ]
)
STRINGS = st.sampled_from(
    ["\x1b]0;t\x07", "\x1b]8;;x\x1b\\", "\x1bPq~\x1b\\", "\x1b_Ga=q;\x1b\\", "\x1b^x\x1b\\"]
)
SEQUENCES = st.one_of(CONTROLS, MOVES, PLACES, ERASURES, EDITS, REGIONS, ESCAPES, COLOURS, STRINGS)
WRITES = st.lists(st.one_of(WIDE, WIDE, SEQUENCES), min_size=1, max_size=30)
WITHOUT_WRAP = st.lists(st.one_of(NARROW, SEQUENCES, st.sampled_from(["\x1b[?7h", "\x1b[?7l"])), max_size=30)
SHELL = st.lists(st.one_of(WIDE, st.just("\r\n"), st.just("\r\n"), COLOURS), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def xterm() -> Iterator[Xterm]:
    process = Xterm()
    yield process
    process.close()


@given(SIZES, st.one_of(WRITES, WITHOUT_WRAP))
def test_streams_give_the_same_rows_history_and_cursor(
    xterm: Xterm, size: tuple[int, int], pieces: list[str]
) -> None:
    recording = Recording(*size, [("write", "".join(pieces))])
    ours, theirs = tape_of(play(recording, LIKE_XTERM_JS)), xterm.play(recording)
    assert ours._replace(wrapped=[]) == theirs._replace(wrapped=[])


@given(SIZES, st.lists(st.one_of(NARROW, SEQUENCES), max_size=30))
def test_streams_give_the_same_looks(xterm: Xterm, size: tuple[int, int], pieces: list[str]) -> None:
    # There SD brings plain rows, and links are underlined.
    kept = [piece for piece in pieces if not piece.endswith("T") and "]8;" not in piece]
    recording = Recording(*size, [("write", "".join(kept))])
    theirs = xterm.looks(recording)
    assert looks_of(play(recording, LIKE_XTERM_JS), len(theirs)) == theirs


def looks_of(terminal: VirtualTerminal, rows: int) -> list[list[tuple[int, str]]]:
    names = ["bold", "dim", "italic", "underline", "blink", "inverse", "hidden", "strike", "overline"]
    shown = dict(zip(names, names, strict=True)) | {"hidden": "invisible", "strike": "strikethrough"}
    found = []
    for y in range(rows):
        runs: list[tuple[int, str]] = []
        for x in range(terminal.columns):
            cell = terminal.tape_cell(y, x)
            attributes = ",".join(shown[name].capitalize() for name in names if name in cell.attrs)
            look = f"{cell.fg}|{cell.bg}|{attributes}"
            if not runs or runs[-1][1] != look:
                runs.append((x, look))
        found.append(runs)
    return found


@given(SIZES, st.lists(st.tuples(WRITES, st.integers(3, 10)), max_size=5))
def test_other_heights_give_the_same_rows_and_history(
    xterm: Xterm, size: tuple[int, int], steps: list[tuple[list[str], int]]
) -> None:
    columns, rows = size
    events: list[Event] = []
    for pieces, height in steps:
        events += [("write", "".join(pieces) + "\r"), ("resize", columns, height)]
    recording = Recording(columns, rows, events)
    ours, theirs = tape_of(play(recording, LIKE_XTERM_JS)), xterm.play(recording)
    assert ours._replace(wrapped=[]) == theirs._replace(wrapped=[])


@given(SIZES, st.lists(st.tuples(SHELL, SIZES), max_size=6))
def test_shell_output_is_rewrapped_the_same_way(
    xterm: Xterm, size: tuple[int, int], steps: list[tuple[list[str], tuple[int, int]]]
) -> None:
    events: list[Event] = []
    for pieces, (columns, rows) in steps:
        events += [("write", "".join(pieces)), ("resize", columns, rows), ("write", f"\x1b[{rows}H")]
    recording = Recording(*size, events)
    ours, theirs = tape_of(play(recording, LIKE_XTERM_JS)), xterm.play(recording)
    assert (ours.rows, ours.history) == (theirs.rows, theirs.history)
