"""How many cells a text takes."""

import re
import subprocess
import sys
import unicodedata

import pytest
import wcwidth
from hypothesis import given

from tau.tui.component import CURSOR_MARKER
from tau.tui.text import width as module
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import NARROW, WIDE, grapheme_width, graphemes, is_narrow, visible_width
from tests.tui.text.strategies import CLUSTERS, anything, plain_lines, styled_lines


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("hello", 5),
        ("\x1b[1;31mhello\x1b[0m", 5),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x07", 4),
        (f"ab{CURSOR_MARKER}c", 3),
        ("漢字", 4),
        ("\x1b[31m漢\x1b[39m字", 4),
        ("e\u0301te\u0301", 3),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467!", 3),
        ("\U0001f1e9\U0001f1ea\U0001f1eb", 4),
        ("\U0001f44d\U0001f3fd", 2),
        ("\u2764\ufe0f\u2764", 3),
        ("\u2764\x1b[31m\ufe0f", 2),
        ("\u1112\u1161\u11ab", 2),
        ("─│•✓❯☑", 6),
        ("a\x00b\x07\x7f", 2),
        ("\x1b", 0),
        ("\x1b[31", 3),
        ("\ud800x", 2),
        ("a\nb", 2),
    ],
)
def test_cells_of_a_text(text: str, cells: int) -> None:
    assert visible_width(text) == cells


@given(styled_lines)
def test_text_is_as_wide_as_its_graphemes(text: str) -> None:
    assert visible_width(text) == sum(map(grapheme_width, graphemes(strip_escapes(text))))


@given(plain_lines)
def test_graphemes_joined_are_the_text_and_none_takes_more_than_two_cells(text: str) -> None:
    found = list(graphemes(text))
    assert "".join(found) == text
    assert all(grapheme_width(grapheme) in (0, 1, 2) for grapheme in found)


@given(plain_lines)
def test_parts_at_grapheme_boundaries_add_up_to_the_whole(text: str) -> None:
    found = list(graphemes(text))
    for at in range(len(found) + 1):
        assert visible_width("".join(found[:at])) + visible_width("".join(found[at:])) == visible_width(text)


@given(anything)
def test_no_text_raises(text: str) -> None:
    assert visible_width(text) >= 0
    assert "".join(graphemes(text)) == text


@pytest.mark.parametrize("cluster", [c for c in CLUSTERS if c not in ("\u1100\u1100\u1100", "\u0605\u6f22")])
def test_cluster_is_one_grapheme_with_the_width_of_wcwidth(cluster: str) -> None:
    assert list(graphemes(f"a{cluster}b")) == ["a", cluster, "b"]
    assert grapheme_width(cluster) == wcwidth.wcswidth(cluster)


def test_cluster_wider_than_two_cells_comes_in_parts() -> None:
    assert list(graphemes("\u1100\u1100\u1100")) == ["\u1100"] * 3
    assert list(graphemes("\u0605\u6f22")) == ["\u0605", "\u6f22"]


def _members(pattern: str) -> list[str]:
    found = re.compile(f"[{pattern}]")
    return [c for c in map(chr, range(sys.maxunicode + 1)) if found.match(c)]


@pytest.mark.parametrize(("pattern", "cells"), [(NARROW, 1), (WIDE, 2)])
def test_characters_that_skip_the_tables_agree_with_them(pattern: str, cells: int) -> None:
    members = _members(pattern)
    assert all(wcwidth.wcwidth(c) == cells for c in members)
    # None joins another: all in a row, in both orders, are as many graphemes.
    for text in ("".join(members), "".join(reversed(members)), "a".join(members)):
        assert list(wcwidth.iter_graphemes(text)) == list(text)


def test_without_joining_characters_widths_add_up() -> None:
    joining = re.compile(f"[{module._JOINING}]")
    for character in map(chr, range(0xA0, sys.maxunicode + 1)):
        width = wcwidth.wcwidth(character)
        if wcwidth.wcswidth(f"\u2611{character}漢") != 3 + width:
            assert joining.match(character), unicodedata.name(character, hex(ord(character)))


def test_columns_equal_indices_only_for_single_cell_text() -> None:
    assert is_narrow("plain ─ text")
    assert not is_narrow("漢")
    assert not is_narrow("e\u0301")
    assert not is_narrow("a\x1b[1m")


def test_cached_widths_are_bounded() -> None:
    for number in range(2 * module._CACHED_WIDTHS):
        visible_width(f"漢{number}")
        grapheme_width(chr(0x20000 + number))
    assert len(module._widths) <= module._CACHED_WIDTHS
    assert len(module._grapheme_widths) <= module._CACHED_WIDTHS


def test_plain_text_and_styles_load_no_tables() -> None:
    script = (
        "import sys\n"
        "from tau.tui.text.width import visible_width, graphemes, grapheme_width\n"
        "from tau.tui.text.wrap import wrap\n"
        "from tau.tui.text.cut import fit, truncate\n"
        "from tau.tui.text.clean import clean, clean_styled\n"
        "from tau.tui.style import UNICODE\n"
        "text = '\\x1b[31mcaf\\xe9 \\u2500\\x1b[0m ' + ''.join(map(str, UNICODE)) + '\\u6f22\\u5b57'\n"
        "visible_width(text), wrap(text, 7), fit(text, 9), truncate(text, 5)\n"
        "clean(text), clean_styled(text)\n"
        "list(map(grapheme_width, graphemes('\\u2500\\u6f22')))\n"
        "print('wcwidth' in sys.modules)\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"
