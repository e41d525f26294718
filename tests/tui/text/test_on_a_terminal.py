"""Measured widths match the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.text.clean import clean, clean_styled
from tau.tui.text.cut import cut, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.text.strategies import anything


def columns_used(row: str) -> tuple[int, int]:
    terminal = VirtualTerminal(columns=300, rows=2)
    terminal.write(row)
    return terminal.cursor


@given(anything, st.integers(2, 40))
def test_cleaned_rows_move_the_cursor_by_their_width(text: str, width: int) -> None:
    for row in wrap(clean(text), width) + wrap(clean_styled(text), width):
        assert columns_used(row) == (0, visible_width(row))
        # Nothing at the start of cleaned text joins a border drawn before it.
        assert columns_used(f"│ {row}") == (0, 2 + visible_width(row))


@given(anything, st.integers(0, 20), st.integers(0, 20))
def test_parts_of_cleaned_rows_move_it_too(text: str, start: int, length: int) -> None:
    row = clean_styled(text).partition("\n")[0]
    for part in (cut(row, start, start + length), truncate(row, length)):
        assert columns_used(part) == (0, visible_width(part))
