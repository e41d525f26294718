"""Soft wrap: nothing is lost, everything fits, and cells and columns agree."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.text.width import visible_width
from tau.tui.widgets.editor import units as units_module
from tau.tui.widgets.editor.input_sanitizer import clean_input
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.pastes import Pastes
from tau.tui.widgets.editor.units import LineUnits, measure_if_needed, measure_line, patch_units, snap_column
from tests.support.soak import examples
from tests.tui.widgets.editor.editor_rig import ODD_TEXTS

LINES = ODD_TEXTS.map(lambda text: clean_input(text).replace("\n", ""))


def rows_of(line: str, width: int) -> list[str]:
    layout = WrapLayout(Pastes())
    layout.use(width)
    return [line[start : layout.row_end(line, row)] for row, start in enumerate(layout.rows(line))]


def test_words_wrap_whole() -> None:
    assert rows_of("the quick brown fox", 11) == ["the quick ", "brown fox"]


def test_blank_that_does_not_fit_hangs_and_moves_no_word() -> None:
    assert rows_of("0123456789 abc", 11) == ["0123456789 ", "abc"]
    assert rows_of("0123456789 ", 11) == ["0123456789 ", ""]


def test_word_longer_than_a_row_breaks_between_graphemes() -> None:
    assert rows_of("abcdefghij", 5) == ["abcd", "efgh", "ij"]
    assert rows_of("日本語日本語", 6) == ["日本", "語日", "本語"]
    assert rows_of("e\u0301" * 5, 3) == ["e\u0301" * 2, "e\u0301" * 2, "e\u0301"]


def test_row_may_break_beside_wide_characters() -> None:
    assert rows_of("abc日本語", 7) == ["abc日", "本語"]


def test_tabs_extend_to_the_next_stop() -> None:
    layout = WrapLayout(Pastes())
    layout.use(20)
    assert layout.shown("a\tb", 0, 3) == "a   b"
    assert layout.shown("日\tb", 0, 3) == "日  b"
    assert layout.cell_of("a\tb", 0, 2) == 4


def test_zero_width_character_is_shown_as_a_symbol() -> None:
    layout = WrapLayout(Pastes())
    line = "a\u200bb\u2028"
    assert layout.shown(line, 0, len(line)) == "a\ufffdb\ufffd"


@given(LINES, st.integers(1, 25))
def test_rows_joined_are_the_line_and_every_row_fits(line: str, width: int) -> None:
    layout = WrapLayout(Pastes())
    layout.use(width)
    starts = layout.rows(line)
    assert starts[0] == 0 and starts == sorted(starts) and len(set(starts)) == len(starts)
    assert "".join(rows_of(line, width)) == line
    for row, start in enumerate(starts):
        assert snap_column(line, start) == start
        assert visible_width(layout.shown(line, start, layout.row_end(line, row))) <= width


@given(LINES, st.integers(1, 25))
def test_column_found_by_its_cell_is_the_same_column(line: str, width: int) -> None:
    layout = WrapLayout(Pastes())
    layout.use(width)
    units = measure_if_needed(line)
    columns = range(len(line) + 1) if units is None else units.starts
    for column in columns:
        row = layout.row_of(line, column)
        cell = layout.cell_of(line, row, column)
        assert layout.column_at(line, row, cell) == column
        assert cell <= layout.cells


@given(st.text(st.sampled_from("abc  "), max_size=80), st.integers(1, 20))
def test_fast_path_for_narrow_lines_wraps_like_the_slow_one(line: str, width: int) -> None:
    layout = WrapLayout(Pastes())
    layout.use(width)
    units = LineUnits(list(range(len(line) + 1)), [1] * len(line), [])
    assert list(layout._narrow(line, 0)) == list(layout._wrapped(line, units, 0))


@given(st.text(st.sampled_from("ab  日本🙂e\u0301"), max_size=80), st.integers(3, 20))
def test_fast_path_for_wide_lines_wraps_like_the_slow_one(line: str, width: int) -> None:
    layout = WrapLayout(Pastes())
    layout.use(width)
    units = measure_if_needed(line)
    if units is not None and units.sums:
        assert list(layout._summed(line, units, 0)) == list(layout._wrapped(line, units, 0))
        rows = layout.rows(line)
        for column in units.starts:
            row = layout.row_of(line, column)
            cells = sum(units.cells[units.starts.index(rows[row]) : units.starts.index(column)])
            assert layout.cell_of(line, row, column) == cells


@given(LINES, LINES, LINES, LINES)
def test_partial_measurement_of_a_changed_line_equals_a_full_one(
    head: str, old: str, new: str, tail: str
) -> None:
    before, after = f"{head}{old}{tail}", f"{head}{new}{tail}"
    found, whole = patch_units(before, measure_line(before), after), measure_line(after)
    if found is not None:
        assert (found.starts, found.cells) == (whole.starts, whole.cells)
        assert found.sums in (whole.sums, [])


UNITS = ("word ", "日本語", "a\tb ", "👩‍👩‍👧 x", "🇩🇪", "e\u0301", "longwithoutblanks", "a\u200bb ")


@examples(20)
@given(
    st.lists(st.sampled_from(UNITS), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 40), LINES), min_size=1, max_size=4),
    st.integers(1, 30),
)
def test_changed_long_line_wraps_like_a_fresh_one(
    units: list[str], changes: list[tuple[int, int, str]], width: int
) -> None:
    line = "".join(units) * (2_500 // len("".join(units)) + 1)
    layout = WrapLayout(Pastes())
    layout.use(width)
    layout.rows(line)
    for place, length, text in changes:
        at = place % len(line)
        line = line[:at] + text + line[at + length :]
        fresh = WrapLayout(Pastes())
        fresh.use(width)
        assert layout.rows(line) == [0, *fresh._breaks(line, 0)]


def test_cache_of_long_lines_is_bounded() -> None:
    layout = WrapLayout(Pastes())
    line = "日本語 " * 25_000
    for number in range(30):
        layout.rows(f"{line}{number}")
    assert sum(map(len, layout._rows)) <= 1_100_000
    assert sum(map(len, units_module._cache._known)) <= 300_000


def test_only_a_changed_line_is_laid_out_again() -> None:
    layout = WrapLayout(Pastes())
    first = layout.rows("some words")
    assert layout.rows("some words") is first
    layout.use(10)
    assert layout.rows("some words") is not first
