"""Parts of a line by columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER
from tau.tui.text.cut import cut, fit, pad, truncate
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tests.tui.text.strategies import Cell, anything, cells, is_closed, styled_lines

columns = st.integers(-2, 40)


@pytest.mark.parametrize(
    ("text", "start", "end", "shown"),
    [
        ("hello", 1, 3, "el"),
        ("hello", 3, 99, "lo"),
        ("hello", 4, 2, ""),
        ("hello", -3, 2, "he"),
        ("a漢字b", 0, 2, "a "),
        ("a漢字b", 2, 4, "  "),
        ("a漢字b", 2, 3, " "),
        ("a漢字b", 2, 6, " 字b"),
        ("ae\u0301b", 1, 2, "e\u0301"),
        ("\x1b[31mhello\x1b[39m", 1, 3, "\x1b[31mel\x1b[39m"),
        ("\x1b[31mhe\x1b[39mllo", 2, 4, "ll"),
        ("ab\x1b[1;31m漢\x1b[0mc", 3, 5, "\x1b[1;31m \x1b[0mc"),
        ("a\x1b[1m漢\x1b[22m", 0, 2, "a\x1b[1m \x1b[22m"),
        ("a❤\x1b[1m\ufe0f\x1b[22mb", 0, 3, "a❤\ufe0f"),
        (f"ab{CURSOR_MARKER}cd", 0, 2, "ab"),
        (f"ab{CURSOR_MARKER}cd", 2, 4, f"{CURSOR_MARKER}cd"),
        (f"ab{CURSOR_MARKER}", 1, 2, f"b{CURSOR_MARKER}"),
    ],
)
def test_columns_of_a_line(text: str, start: int, end: int, shown: str) -> None:
    assert cut(text, start, end) == shown


def halved(line: list[Cell], start: int, end: int) -> list[Cell]:
    """The cells [start, end); half of a character becomes a blank."""
    part = line[start:end]
    if part and not part[0][0]:
        part[0] = (" ", *part[0][1:])
    if part and end < len(line) and not line[end][0]:
        part[-1] = (" ", *part[-1][1:])
    return part


# U+0605 joins whatever follows, so also the blank for half a character.
@given(styled_lines.map(lambda text: text.replace("\u0605", "")), columns, columns)
def test_part_holds_the_cells_of_the_whole_with_their_styles(text: str, start: int, end: int) -> None:
    part = cut(text, start, end)
    assert cells(part) == halved(cells(text), max(start, 0), max(end, start, 0))
    assert is_closed(part) or end <= start


@given(styled_lines, st.integers(0, 40))
def test_two_parts_add_up_to_the_whole(text: str, at: int) -> None:
    whole = visible_width(text)
    assert visible_width(cut(text, 0, at)) + visible_width(cut(text, at, max(whole, at))) == whole


@given(styled_lines)
def test_whole_width_is_the_whole_text(text: str) -> None:
    assert strip_escapes(cut(text, 0, visible_width(text) + 1)) == strip_escapes(text)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
        ("漢字漢字", 6, "漢字…"),
        ("漢字漢字", 4, "漢…"),
        ("\x1b[31mhello\x1b[39m", 3, "\x1b[31mhe…\x1b[39m"),
        ("\x1b[31mhe\x1b[39mllo", 4, "\x1b[31mhe\x1b[39ml…"),
    ],
)
def test_overlong_text_ends_with_an_ellipsis(text: str, width: int, shown: str) -> None:
    assert truncate(text, width) == shown


def test_ellipsis_may_be_longer_than_the_room() -> None:
    assert truncate("hello", 2, "...") == ".."
    assert truncate("hello", 4, "...") == "h..."
    assert truncate("hello", 3, "") == "hel"


@given(styled_lines, st.integers(-1, 40), st.sampled_from(["…", "...", "", "漢"]))
def test_truncated_line_fits_and_keeps_its_beginning(text: str, width: int, ellipsis: str) -> None:
    shown = truncate(text, width, ellipsis)
    assert visible_width(shown) <= max(width, 0)
    if visible_width(text) <= width:
        assert shown == text
    else:
        assert is_closed(shown)
        kept = cells(shown)[: max(width - 2 - visible_width(ellipsis), 0)]
        assert kept == cells(text)[: len(kept)]


@given(styled_lines, st.integers(0, 40))
def test_fit_is_exact_and_pad_never_cuts(text: str, width: int) -> None:
    assert visible_width(fit(text, width)) == width
    assert visible_width(pad(text, width)) == max(width, visible_width(text))
    assert pad(text, width).startswith(text)


@given(anything, columns, columns)
def test_no_text_raises(text: str, start: int, end: int) -> None:
    assert visible_width(cut(text, start, end)) <= max(end - max(start, 0), 0)
    assert visible_width(truncate(text, end)) <= max(end, 0)
