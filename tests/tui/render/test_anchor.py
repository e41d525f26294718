"""After a width change, the place where the final rows end is found again in the new rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.render.audit import wrapped_heights
from tau.tui.render.compose import Record
from tau.tui.render.ledger import RowPlace
from tau.tui.render.text_anchor import (
    anchor_at,
    find_anchor,
    find_place,
    first_letters,
    skip_letters,
    text_anchor,
)
from tau.tui.text.wrap import wrap

TEXT = "The quick brown fox jumps over the lazy dog, and so do I; twice (if need be)."


def test_wrapped_rows_count_once_per_started_width() -> None:
    assert wrapped_heights([0, 3, 7], 3) == [1, 1, 3]


def test_place_between_lines_stays_there() -> None:
    old = [*wrap(TEXT, 20), "", *wrap(TEXT, 20)]
    new = [*wrap(TEXT, 33), "", *wrap(TEXT, 33)]
    after_first, after_blank = len(wrap(TEXT, 20)), len(wrap(TEXT, 20)) + 1
    assert find_place(new, text_anchor(old, RowPlace(after_first))) == RowPlace(len(wrap(TEXT, 33)))
    assert find_place(new, text_anchor(old, RowPlace(after_blank))) == RowPlace(len(wrap(TEXT, 33)) + 1)


@given(st.integers(8, 60), st.integers(8, 60), st.integers(0, 12))
def test_rest_of_a_row_continues_exactly_where_the_kept_rows_end(old: int, new: int, row: int) -> None:
    kept = wrap(TEXT, old)[:row]
    rows = wrap(TEXT, new)
    at, skipped = find_place(rows, text_anchor(wrap(TEXT, old), RowPlace(len(kept))))
    rest = [
        skip_letters(row, first_letters(row, 0 if number else skipped))
        for number, row in enumerate(rows[at:])
    ]
    shown = " ".join(" ".join([*kept, *rest]).split())
    assert shown == TEXT


@pytest.mark.parametrize(
    ("row", "count", "rest"),
    (
        ("one two three", 3, "two three"),
        ("one, two", 3, "two"),
        ("  • one two", 3, "    two"),
        ("\x1b[1mone two\x1b[22m three", 3, "\x1b[1mtwo\x1b[22m three"),
        ("one", 3, ""),
        ("onetwo", 3, "two"),
    ),
)
def test_skipped_letters_leave_the_indentation_and_the_style(row: str, count: int, rest: str) -> None:
    assert skip_letters(row, first_letters(row, count)) == rest


def test_row_that_begins_differently_keeps_its_letters() -> None:
    assert skip_letters("one two", "six") == "one two"


def test_place_in_a_table_that_becomes_records_is_its_row() -> None:
    old = ["name   │ text", "───────┼─────", "line10 │ abc", "line11 │ def"]
    new = ["name: line10", "text: abc", "───", "name: line11", "text: def"]
    assert find_place(new, text_anchor(old, RowPlace(3))) == RowPlace(3)


def test_end_of_a_block_stays_its_end_even_if_its_text_changes() -> None:
    assert find_place(["cut off here"], text_anchor(["cut", "off …"], RowPlace(2))) == RowPlace(1)


def test_blocks_above_do_not_matter() -> None:
    old = Record(0, ["cut off …", "", "one two", "three"], (0, 1))
    new = Record(0, ["cut", "off here", "", "one", "two", "three"], (0, 2))
    assert find_anchor(new, anchor_at(old, RowPlace(3))) == RowPlace(5)
    assert find_anchor(new, anchor_at(old, RowPlace(4))) == RowPlace(6)
