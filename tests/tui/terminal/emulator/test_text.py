"""Text on the grid: wrapping, wide characters, clusters, and overwriting half of one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.text.width import grapheme_width, graphemes, visible_width
from tests.support.terminal.emulator.printer import SIMPLE
from tests.support.terminal.virtual import VirtualTerminal

FAMILY = "👨‍👩‍👧"


def shown(text: str, columns: int = 10, rows: int = 4) -> VirtualTerminal:
    terminal = VirtualTerminal(columns, rows)
    terminal.write(text)
    return terminal


def test_full_row_wraps_only_with_the_next_character() -> None:
    terminal = shown("0123456789")
    assert terminal.cursor == (0, 9)
    assert terminal.wrap_pending
    terminal.write("x")
    assert terminal.screen()[:2] == ["0123456789", "x"]
    assert terminal.wrapped()[:2] == [False, True]


@pytest.mark.parametrize("move", ["\r", "\x1b[D", "\b", "\x1b[1;4H", "\x1b[A"])
def test_moving_cancels_the_pending_wrap(move: str) -> None:
    assert shown("0123456789" + move + "x").cursor[0] == 0


def test_crlf_after_a_full_row_leaves_no_empty_row() -> None:
    assert shown("0123456789\r\nx").screen()[:2] == ["0123456789", "x"]


def test_without_autowrap_the_last_column_is_overwritten() -> None:
    terminal = shown("\x1b[?7l0123456789abc")
    assert terminal.screen() == ["012345678c", "", "", ""]
    terminal.write("\x1b[?7h\x1b[1;10HXY")
    assert terminal.screen()[:2] == ["012345678X", "Y"]


def test_wide_character_that_does_not_fit_moves_to_the_next_row() -> None:
    terminal = shown("012345678日x")
    assert terminal.screen()[:2] == ["012345678", "日x"]
    assert terminal.cell(1, 0).char == "日"
    assert terminal.cell(1, 1).char == ""


def test_without_autowrap_a_wide_character_at_the_edge_is_dropped() -> None:
    assert shown("\x1b[?7l012345678日").screen()[0] == "012345678"


@pytest.mark.parametrize(("column", "row"), [(1, "x 本"), (2, " x本"), (3, "日x"), (4, "日 x")])
def test_overwriting_half_of_a_wide_character_erases_the_other_half(column: int, row: str) -> None:
    assert shown(f"日本\x1b[1;{column}Hx").screen()[0] == row


def test_combining_marks_join_the_previous_character() -> None:
    terminal = shown("e\u0301x")
    assert terminal.cell(0, 0).char == "e\u0301"
    assert terminal.cursor == (0, 2)


def test_combining_marks_join_across_chunks_and_styles() -> None:
    terminal = VirtualTerminal(10, 2)
    for piece in ("e", "\u0301", "\x1b[1m\u0308"):
        terminal.write(piece)
    assert terminal.cell(0, 0).char == "e\u0301\u0308"


def test_combining_mark_at_the_start_of_a_row_has_nothing_to_join() -> None:
    assert shown("\u0301x").screen()[0] == "x"


@pytest.mark.parametrize("cluster", [FAMILY, "🇩🇪", "👍🏽", "❤\ufe0f", "각"])
def test_cluster_takes_two_cells_in_any_chunking(cluster: str) -> None:
    whole = shown(f"a{cluster}b")
    pieces = VirtualTerminal(10, 4)
    for char in f"a{cluster}b":
        pieces.write(char)
    assert whole.screen()[0] == pieces.screen()[0] == f"a{cluster}b"
    assert whole.cell(0, 1).char == pieces.cell(0, 1).char == cluster
    assert whole.cursor == pieces.cursor == (0, 4)


def test_character_that_becomes_wide_at_the_edge_moves_to_the_next_row() -> None:
    terminal = VirtualTerminal(4, 3)
    terminal.write("abc❤")
    terminal.write("\ufe0f!")
    assert terminal.screen() == ["abc", "❤\ufe0f!", ""]


def test_characters_wider_than_the_terminal_are_dropped() -> None:
    assert shown("a日b", columns=1).screen()[:2] == ["a", "b"]


def test_insert_mode_pushes_the_rest_of_the_row_to_the_right() -> None:
    assert shown("abcdefgh日\x1b[1;2H\x1b[4hXYZ").screen()[0] == "aXYZbcdefg"


def test_line_drawing_characters_are_a_separate_set() -> None:
    assert shown("\x1b(0lqk\x1b(Blqk").screen()[0] == "┌─┐lqk"


def test_last_character_is_repeated() -> None:
    assert shown("ab\x1b[3b").screen()[0] == "abbbb"


def test_fast_path_is_only_taken_for_single_cell_characters() -> None:
    simple = [char for char in map(chr, range(0x20, 0x3000)) if SIMPLE.fullmatch(char)]
    assert len(simple) > 1000
    assert not [char for char in simple if grapheme_width(char) != 1]


TEXT = st.text(
    alphabet=st.sampled_from([*"abc  é─日本👍❤", "\ufe0f", "\u0301", "\u200d", "👩", "🇩", "🇪"]), max_size=40
)


@given(TEXT, st.integers(2, 9))
def test_text_on_the_grid_matches_the_width_model(text: str, columns: int) -> None:
    terminal = VirtualTerminal(columns, 60)
    terminal.write(text)
    placed = [terminal.cell(row, x).char for row in range(60) for x in range(columns)]
    clusters = [cluster for cluster in graphemes(text) if grapheme_width(cluster) > 0]
    assert [char for char in placed if char.strip()] == [cluster for cluster in clusters if cluster.strip()]


@given(TEXT, st.integers(2, 9), st.lists(st.integers(0, 40), max_size=5))
def test_text_looks_the_same_in_any_chunking(text: str, columns: int, cuts: list[int]) -> None:
    whole, cut = VirtualTerminal(columns, 60), VirtualTerminal(columns, 60)
    whole.write(text)
    places = sorted({min(place, len(text)) for place in cuts} | {0, len(text)})
    for start, end in pairwise(places):
        cut.write(text[start:end])
    assert cut.screen() == whole.screen()
    assert cut.cursor == whole.cursor


@given(TEXT)
def test_cursor_moves_by_the_visible_width(text: str) -> None:
    terminal = VirtualTerminal(200, 2)
    terminal.write(text.lstrip("\u0301\ufe0f\u200d"))
    assert terminal.cursor == (0, visible_width(text.lstrip("\u0301\ufe0f\u200d")))


def test_bytes_may_end_within_a_character() -> None:
    terminal = VirtualTerminal(10, 2)
    for byte in "aé日👍".encode():
        terminal.feed_bytes(bytes([byte]))
    assert terminal.screen()[0] == "aé日👍"
