"""Which styles are open at a point of a text."""

import pytest
from hypothesis import given

from tau.tui.component import CURSOR_MARKER
from tau.tui.text import sgr
from tau.tui.text.sgr import Styles, reopen_style, split_escapes, strip_escapes
from tests.tui.text.strategies import anything, cells


def fed(*sequences: str) -> Styles:
    styles = Styles()
    for sequence in sequences:
        styles.feed(sequence)
    return styles


@pytest.mark.parametrize(
    ("sequences", "opening", "closing"),
    [
        (["\x1b[1m"], "\x1b[1m", "\x1b[22m"),
        (["\x1b[1;2m"], "\x1b[1;2m", "\x1b[22m"),
        (["\x1b[31;44m"], "\x1b[31;44m", "\x1b[39;49m"),
        (["\x1b[31m", "\x1b[92m"], "\x1b[92m", "\x1b[39m"),
        (["\x1b[38;5;7;1m"], "\x1b[38;5;7;1m", "\x1b[39;22m"),
        (["\x1b[38;2;1;2;3m"], "\x1b[38;2;1;2;3m", "\x1b[39m"),
        (["\x1b[38:2::1:2:3m"], "\x1b[38;2;1;2;3m", "\x1b[39m"),
        (["\x1b[48:5:9m"], "\x1b[48;5;9m", "\x1b[49m"),
        (["\x1b[4:3m"], "\x1b[4:3m", "\x1b[24m"),
        (["\x1b[4m", "\x1b[4:0m"], "", ""),
        (["\x1b[1;31m", "\x1b[22m"], "\x1b[31m", "\x1b[39m"),
        (["\x1b[1;31m", "\x1b[m"], "", ""),
        (["\x1b[1;31m", "\x1b[0;3m"], "\x1b[3m", "\x1b[23m"),
        (["\x1b[38;5m", "\x1b[38;2;1m", "\x1b[38;5;999m", "\x1b[77m"], "", ""),
        (["\x1b[38;2;1;2m"], "", ""),
        (["\x1b[?1m", "\x1b[>4;2m"], "", ""),
    ],
)
def test_sequences_accumulate_into_open_styles(sequences: list[str], opening: str, closing: str) -> None:
    styles = fed(*sequences)
    assert (styles.opening(), styles.closing()) == (opening, closing)


def test_link_is_open_until_an_empty_one() -> None:
    styles = fed("\x1b[1m", "\x1b]8;id=a;https://a.example\x07")
    assert styles.opening() == "\x1b[1m\x1b]8;id=a;https://a.example\x07"
    assert styles.closing() == "\x1b]8;;\x1b\\\x1b[22m"
    assert styles.feed("\x1b]8;;\x1b\\")
    assert styles.link == ""


def test_non_style_sequence_changes_nothing_and_says_so() -> None:
    styles = Styles()
    assert not styles.feed(CURSOR_MARKER)
    assert not styles.feed("\x1b[2J")
    assert not styles


def test_sequences_are_extracted_with_their_positions() -> None:
    assert split_escapes("a\x1b[1mbc\x1b]8;;x\x07") == ("abc", [(1, "\x1b[1m"), (3, "\x1b]8;;x\x07")])


def test_unfinished_sequences_stay_in_the_text() -> None:
    assert strip_escapes("a\x1b[31") == "a\x1b[31"
    assert strip_escapes("a\x1b]8;;x\nb\x07") == "a\x1b]8;;x\nb\x07"


@given(anything)
def test_extracting_and_reinserting_sequences_round_trips(text: str) -> None:
    plain, marks = split_escapes(text)
    assert plain == strip_escapes(text)
    for at, sequence in reversed(marks):
        plain = plain[:at] + sequence + plain[at:]
    assert plain == text


def test_outer_style_reopens_after_an_inner_one_closed_it() -> None:
    assert reopen_style("a\x1b[31mb\x1b[39mc", "\x1b[32m") == "a\x1b[31mb\x1b[39m\x1b[32mc"
    assert reopen_style("a\x1b[1mb\x1b[22mc", "\x1b[32m") == "a\x1b[1mb\x1b[22mc"
    assert reopen_style("a\x1b[31mb\x1b[39m", "\x1b[32m") == "a\x1b[31mb\x1b[39m"
    inside = reopen_style("a\x1b[2mb\x1b[22mc", "\x1b[1m")
    assert cells(f"\x1b[1m{inside}\x1b[22m")[2][1] == {("bold", "1")}


def test_cached_sequences_are_bounded() -> None:
    for number in range(2 * sgr._CACHED_SEQUENCES):
        sgr.parse_sgr(f"\x1b[38;2;{number % 256};{number // 256};0m")
    assert len(sgr._changes) <= sgr._CACHED_SEQUENCES
