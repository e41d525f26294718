"""One row of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.style import ASCII, StyleSpec, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.truncated import TruncatedText
from tests.support.palettes import DARK_TOKENS
from tests.tui.text.strategies import anything, is_closed

PLAIN = Theme({})


@pytest.mark.parametrize(
    ("text", "width", "row"),
    [
        ("short", 10, "short"),
        ("too long", 5, "too …"),
        ("two\nlines", 20, "two lines"),
        ("", 5, ""),
        ("漢字", 3, "漢…"),
    ],
)
def test_text_is_one_row(text: str, width: int, row: str) -> None:
    assert TruncatedText(PLAIN, text).render(width) == [row]


def test_keeps_its_rows_until_something_changes() -> None:
    shown = TruncatedText(Theme({"a": StyleSpec(bold=True)}), "text", "a", padding_x=1)
    rows = shown.render(10)
    assert rows == [" \x1b[1mtext\x1b[22m"]
    assert shown.render(10) is rows
    shown.set_text("other", "")
    assert shown.render(10) == [" other"]
    shown.invalidate()
    assert shown.render(4) == [" o…"]
    assert shown.render(2) == ["o…"]


def test_ellipsis_comes_from_the_theme() -> None:
    assert TruncatedText(Theme({}, symbols=ASCII), "too long").render(6) == ["too..."]


def test_colors_are_kept_only_on_request() -> None:
    assert TruncatedText(PLAIN, "\x1b[31mred").render(9) == ["red"]
    assert TruncatedText(PLAIN, "\x1b[31mred\nx", styled=True).render(9) == [
        "\x1b[31mred\x1b[39m \x1b[31mx\x1b[39m"
    ]


@given(anything, st.integers(1, 20), st.integers(0, 3), st.booleans())
def test_any_text_fits(text: str, width: int, padding: int, styled: bool) -> None:
    theme = Theme(DARK_TOKENS)
    (row,) = TruncatedText(theme, text, "accent", padding_x=padding, styled=styled).render(width)
    assert visible_width(row) <= width
    assert is_closed(row)
    assert "\n" not in row
