"""Wrapping text into rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER
from tau.tui.text import wrap as module
from tau.tui.text.sgr import split_escapes, strip_escapes
from tau.tui.text.width import grapheme_width, graphemes, visible_width
from tau.tui.text.wrap import wrap, wrap_hard
from tests.tui.text.strategies import anything, cells, is_closed, plain_lines, styled_texts

widths = st.integers(1, 30)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
THUMB = "\U0001f44d\U0001f3fd"


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("", 5, [""]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two  ", 7, ["one two"]),
        ("one   two", 5, ["one", "two"]),
        ("  indented text", 10, ["  indented", "text"]),
        ("supercalifragilistic", 8, ["supercal", "ifragili", "stic"]),
        ("a supercalifragilistic b", 8, ["a", "supercal", "ifragili", "stic b"]),
        ("      ", 4, ["    "]),
        ("abc", 0, ["a", "b", "c"]),
        ("漢字かな交じり文", 5, ["漢字", "かな", "交じ", "り文"]),
        ("word漢字 word", 6, ["word漢", "字", "word"]),
        ("これは「文」。", 10, ["これは", "「文」。"]),
        ("漢字", 1, ["?", "?"]),
        (FAMILY + THUMB, 2, [FAMILY, THUMB]),
    ],
)
def test_text_breaks_at_blanks_and_long_words_anywhere(text: str, width: int, rows: list[str]) -> None:
    assert wrap(text, width) == rows


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("one two", 4, ["one ", "two"]),
        ("a漢字", 2, ["a", "漢", "字"]),
        ("", 3, [""]),
        ("ab\ncd", 1, ["a", "b", "c", "d"]),
        ("\x1b[1mabcd\x1b[22m", 2, ["\x1b[1mab\x1b[22m", "\x1b[1mcd\x1b[22m"]),
    ],
)
def test_hard_wrapped_rows_are_as_full_as_possible(text: str, width: int, rows: list[str]) -> None:
    assert wrap_hard(text, width) == rows


def test_every_row_closes_its_styles_and_links_and_the_next_opens_them() -> None:
    link = "\x1b]8;;https://a.example\x1b\\"
    end = "\x1b]8;;\x1b\\"
    assert wrap(f"see {link}the \x1b[1mlong\x1b[22m page{end} now", 8) == [
        f"see {link}the{end}",
        f"\x1b[1m{link}long{end}\x1b[22m",
        f"{link}page{end} now",
    ]
    assert wrap("\x1b[31mred\n\nstill\x1b[39m", 9) == ["\x1b[31mred\x1b[39m", "", "\x1b[31mstill\x1b[39m"]


def test_style_starting_at_a_break_belongs_to_the_next_row() -> None:
    assert wrap("abc \x1b[1mdef\x1b[22m", 3) == ["abc", "\x1b[1mdef\x1b[22m"]
    assert wrap("abc\x1b[1m def\x1b[22m", 3) == ["abc", "\x1b[1mdef\x1b[22m"]


def test_cursor_stays_in_a_row() -> None:
    assert wrap(f"abc{CURSOR_MARKER}", 3) == [f"abc{CURSOR_MARKER}"]
    assert wrap(f"abc def{CURSOR_MARKER}", 3) == ["abc", f"def{CURSOR_MARKER}"]
    assert wrap(f"abc {CURSOR_MARKER} def", 3) == ["abc", f"{CURSOR_MARKER}def"]
    assert wrap(f"abc   {CURSOR_MARKER}", 3) == [f"abc{CURSOR_MARKER}"]


@given(styled_texts, widths)
def test_rows_fit_and_close_what_they_open(text: str, width: int) -> None:
    for row in (*wrap(text, width), *wrap_hard(text, width)):
        assert visible_width(row) <= width
        assert is_closed(row)
        assert "\n" not in row


@given(styled_texts, st.integers(2, 30))
def test_no_grapheme_but_blanks_is_lost_and_styles_stay_on_theirs(text: str, width: int) -> None:
    # Each row is checked alone: it opens what it needs.
    before = [cell for cell in cells(text.replace("\n", "\x1b[0;0m \x1b[m")) if cell[0] not in (" ", "")]
    after = [cell for row in wrap(text, width) for cell in cells(row) if cell[0] not in (" ", "")]
    assert [cell[0] for cell in after] == [cell[0] for cell in before]
    styled = [cell for line in _lines_by_themselves(text) for cell in cells(line) if cell[0] not in (" ", "")]
    assert after == styled


def _lines_by_themselves(text: str) -> list[str]:
    lines: list[str] = []
    opened = ""
    for line in text.split("\n"):
        lines.append(opened + line)
        opened += "".join(part for part in _sequences(line))
    return lines


def _sequences(line: str) -> list[str]:
    return [sequence for _, sequence in split_escapes(line)[1]]


@given(styled_texts, st.integers(2, 30))
def test_hard_wrapped_rows_joined_are_the_line(text: str, width: int) -> None:
    line = text.replace("\n", "")
    assert "".join(map(strip_escapes, wrap_hard(line, width))) == strip_escapes(line)


@given(plain_lines, st.integers(2, 30))
def test_no_grapheme_is_split(text: str, width: int) -> None:
    whole = [grapheme for grapheme in graphemes(text) if grapheme.strip(" ")]
    rows = [grapheme for row in wrap(text, width) for grapheme in graphemes(row) if grapheme.strip(" ")]
    assert rows == whole


@given(st.text("ab ", min_size=1).filter(str.strip), widths)
def test_all_wrapping_paths_agree_on_narrow_text(line: str, width: int) -> None:
    assert module._narrow_spans(line, width) == module._cluster_spans(line, width)
    assert module._narrow_spans(line, width) == module._simple_spans(line, width)


@given(st.text("ab 漢字「。é", min_size=1).filter(lambda text: text.strip(" ")), st.integers(2, 30))
def test_both_wrapping_paths_agree_on_wide_text(line: str, width: int) -> None:
    assert module._simple_spans(line, width) == module._cluster_spans(line, width)


@given(plain_lines, widths)
def test_wrapping_rows_again_changes_nothing(text: str, width: int) -> None:
    for row in wrap(text, width):
        assert len(wrap(row, width)) == 1


@given(anything, widths)
def test_no_text_raises_and_every_row_fits(text: str, width: int) -> None:
    assert all(visible_width(row) <= width for row in wrap(text, width) + wrap_hard(text, width))


def test_zero_width_character_is_not_alone_in_a_row() -> None:
    assert wrap("abcd\u200b", 4) == ["abcd\u200b"]
    assert grapheme_width("\u200b") == 0
