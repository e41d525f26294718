"""Soft wrap: nothing is lost, everything fits, and cells and columns agree."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.text.width import visible_width
from tau.tui.widgets.editor.intake import incoming
from tau.tui.widgets.editor.layout import Layout
from tau.tui.widgets.editor.pastes import Pastes
from tau.tui.widgets.editor.units import Shape, shape, snapped
from tests.tui.widgets.editor.hands import ODD_TEXTS

LINES = ODD_TEXTS.map(lambda text: incoming(text).replace("\n", ""))


def rows_of(line: str, width: int) -> list[str]:
    layout = Layout(Pastes())
    layout.use(width)
    return [line[start : layout.row_end(line, row)] for row, start in enumerate(layout.rows(line))]


def test_words_go_to_the_next_row_whole() -> None:
    assert rows_of("the quick brown fox", 11) == ["the quick ", "brown fox"]


def test_a_blank_that_does_not_fit_hangs_in_the_free_cell_and_moves_no_word() -> None:
    assert rows_of("0123456789 abc", 11) == ["0123456789 ", "abc"]
    assert rows_of("0123456789 ", 11) == ["0123456789 ", ""]


def test_a_word_longer_than_a_row_is_broken_between_graphemes() -> None:
    assert rows_of("abcdefghij", 5) == ["abcd", "efgh", "ij"]
    assert rows_of("日本語日本語", 6) == ["日本", "語日", "本語"]
    assert rows_of("e\u0301" * 5, 3) == ["e\u0301" * 2, "e\u0301" * 2, "e\u0301"]


def test_a_row_may_break_beside_wide_characters() -> None:
    assert rows_of("abc日本語", 7) == ["abc日", "本語"]


def test_tabs_take_the_cells_to_the_next_stop() -> None:
    layout = Layout(Pastes())
    layout.use(20)
    assert layout.shown("a\tb", 0, 3) == "a   b"
    assert layout.shown("日\tb", 0, 3) == "日  b"
    assert layout.cell_of("a\tb", 0, 2) == 4


def test_what_has_no_width_is_shown_as_a_sign() -> None:
    layout = Layout(Pastes())
    line = "a\u200bb\u2028"
    assert layout.shown(line, 0, len(line)) == "a\ufffdb\ufffd"


@given(LINES, st.integers(1, 25))
def test_rows_joined_are_the_line_and_every_row_fits(line: str, width: int) -> None:
    layout = Layout(Pastes())
    layout.use(width)
    starts = layout.rows(line)
    assert starts[0] == 0 and starts == sorted(starts) and len(set(starts)) == len(starts)
    assert "".join(rows_of(line, width)) == line
    for row, start in enumerate(starts):
        assert snapped(line, start) == start
        assert visible_width(layout.shown(line, start, layout.row_end(line, row))) <= width


@given(LINES, st.integers(1, 25))
def test_a_column_found_by_its_cell_is_the_same_column(line: str, width: int) -> None:
    layout = Layout(Pastes())
    layout.use(width)
    units = shape(line)
    columns = range(len(line) + 1) if units is None else units.starts
    for column in columns:
        row = layout.row_of(line, column)
        cell = layout.cell_of(line, row, column)
        assert layout.column_at(line, row, cell) == column
        assert cell <= layout.cells


@given(st.text(st.sampled_from("abc  "), max_size=80), st.integers(1, 20))
def test_the_short_way_for_narrow_lines_wraps_like_the_long_one(line: str, width: int) -> None:
    layout = Layout(Pastes())
    layout.use(width)
    units = Shape(list(range(len(line) + 1)), [1] * len(line), [])
    assert layout._narrow(line) == layout._wrapped(line, units)


@given(st.text(st.sampled_from("ab  日本🙂e\u0301"), max_size=80), st.integers(3, 20))
def test_the_short_way_for_wide_lines_wraps_like_the_long_one(line: str, width: int) -> None:
    layout = Layout(Pastes())
    layout.use(width)
    units = shape(line)
    if units is not None and units.sums:
        assert layout._summed(line, units) == layout._wrapped(line, units)
        rows = layout.rows(line)
        for column in units.starts:
            row = layout.row_of(line, column)
            cells = sum(units.cells[units.starts.index(rows[row]) : units.starts.index(column)])
            assert layout.cell_of(line, row, column) == cells


def test_only_a_changed_line_is_laid_out_again() -> None:
    layout = Layout(Pastes())
    first = layout.rows("some words")
    assert layout.rows("some words") is first
    layout.use(10)
    assert layout.rows("some words") is not first
