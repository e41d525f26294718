"""Foreign text, made safe to show."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER
from tau.tui.text.clean import TAB_WIDTH, clean, clean_line, clean_styled, clean_styled_from, link
from tau.tui.text.sgr import parse_sgr, strip_escapes
from tau.tui.text.width import grapheme_width, graphemes, is_simple, visible_width
from tests.tui.text.strategies import anything, cells, is_closed

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SGR = re.compile(r"\x1b\[[0-9;]+m")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;https://a.example\x1b\\b\x1b]8;;\x1b\\c", "abc"),
        ("a\x1bPq#0;1\x1b\\b", "ab"),
        (f"a{CURSOR_MARKER}b", "ab"),
        ("a\x1b_Ga=T;AAAA\x1b\\b", "ab"),
        ("a\x9b31mb\x9d0;t\x9cc\x90q\x9cd", "abcd"),
        ("a\x1b[31", "a31"),
        ("a\x1b]0;never ends\nb", "a0;never ends\nb"),
        ("\x1b\x1b[31mx", "x"),
        ("\x1b\x08[31mx", "[31mx"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\vb\fc", "a\nb\nc"),
        ("a\u2028b", "a b"),
        ("N\x08NA\x08A", "NA"),
        ("ab\n\x08c", "ab\nc"),
        ("\x08x", "x"),
        ("a\tb", "a   b"),
        ("漢\tb\n\tc", "漢  b\n    c"),
        ("\udcff\ud800", "\ufffd\ufffd"),
        ("a\u202eb\u2066c\ufeff\u200bd", "a<U+202E>b<U+2066>c<U+FEFF><U+200B>d"),
        ("\u0301a\u0301", "a\u0301"),
        ("x\n\ufe0fy", "x\n<U+FE0F>y"),
        ("x\n\u0301y", "x\ny"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\x00\x07\x0e\x7f\x85", ""),
    ],
)
def test_only_text_and_newlines_stay(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("width", "ascii", "wide"),
    [
        (1, "ab c d", "漢 c d"),
        (4, "ab  c   d", "漢  c   d"),
        (8, "ab      c       d", "漢      c       d"),
    ],
)
def test_tabs_become_blanks_up_to_the_next_stop(
    monkeypatch: pytest.MonkeyPatch, width: int, ascii: str, wide: str
) -> None:
    assert TAB_WIDTH.width == 4
    monkeypatch.setattr(TAB_WIDTH, "width", width)
    assert clean("ab\tc\td") == clean_styled("ab\tc\td") == ascii
    assert clean("漢\tc\td") == clean_styled("漢\tc\td") == wide
    assert clean_styled("ab\tc\td\r漢") == wide


@given(anything)
def test_control_sequences_are_removed(text: str) -> None:
    shown = clean(text)
    assert not CONTROL.search(shown)
    assert clean(shown) == shown
    assert all(grapheme_width(next(graphemes(line), "x")) > 0 for line in shown.split("\n"))
    line = clean_line(text)
    assert not CONTROL.search(line)
    assert "\n" not in line
    shown.encode()


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_no_control_character_survives_anywhere(code: int) -> None:
    for text in (
        f"a{chr(code)}b",
        chr(code),
        f"\x1b[{chr(code)}m",
        f"\x1b]0;{chr(code)}\x07",
        f"é{chr(code)}é",
    ):
        assert not CONTROL.search(clean(text))
        assert not CONTROL.search(SGR.sub("", clean_styled(text)))
        assert not CONTROL.search(clean_line(text))


def test_invalid_utf_8_is_replaced() -> None:
    overlong = b"\xc0\x9b31m\xe0\x80\x9b\xed\xa0\x80"
    for errors in ("surrogateescape", "replace"):
        text = overlong.decode("utf-8", errors)
        assert clean(text).replace("\ufffd", "") == "31m"
        assert clean_styled(text).replace("\ufffd", "") == "31m"


def test_ordinary_letters_and_signs_stay_unchanged() -> None:
    simple = "".join(filter(is_simple, map(chr, range(0x110000))))
    assert clean(simple) == simple
    assert clean(simple + "\x00") == simple  # every character looked at
    assert [one for one in simple if clean(one + "\x00") != one] == []


def test_line_has_single_blanks() -> None:
    assert clean_line("  a \n\n b\t\tc  ") == "a b c"
    assert clean_line("plain") == "plain"
    assert clean_line(" \u0301x") == "x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[39m"),
        ("\x1b[1;31mred\nand on\x1b[0m off", "\x1b[1;31mred\x1b[22;39m\n\x1b[1;31mand on\x1b[22;39m off"),
        ("\x1b[5;8;31mx", "\x1b[31mx\x1b[39m"),
        ("\x1b[4:3;58;5;1mx", "\x1b[4mx\x1b[24m"),
        ("\x1b[38:2::1:2:3mx", "\x1b[38;2;1;2;3mx\x1b[39m"),
        ("\x1b[31m\x1b[32mx\x1b[m", "\x1b[32mx\x1b[39m"),
        ("\x1b[31m\x1b[0mx", "x"),
        ("\x1b]8;;https://a.example\x07x\x1b]8;;\x07", "x"),
        ("\x1b[2Jx\x1b[10;1Hy", "xy"),
        ("a\r\nb", "a\nb"),
        ("10%\r100%", "100%"),
        ("abcdef\rxy", "xycdef"),
        ("abcdef\r\x1b[Kxy", "xy"),
        ("abcdef\x1b[2K\rxy", "xy"),
        ("abc\x1b[2D\x1b[1Kx", " xc"),
        ("abc\x1b[1Gx", "xbc"),
        ("a\x1b[2Cb", "a  b"),
        ("N\x08NA\x08A", "NA"),
        ("漢字\rx", "x 字"),
        ("漢字\r\x1b[Cx", " x字"),
        ("\x1b[31mab\r\x1b[32mc\x1b[0m", "\x1b[32mc\x1b[39m\x1b[31mb\x1b[39m"),
        ("a\tb\rx", "x   b"),
        ("漢\tb", "漢  b"),
        ("\x1b[31m\u0301x", "\x1b[31mx\x1b[39m"),
        ("a\vb", "a b"),
        ("\u2764\x1b[31m\ufe0fx", "\u2764\ufe0f\x1b[31mx\x1b[39m"),
    ],
)
def test_colors_stay_and_lines_look_as_on_a_terminal(text: str, shown: str) -> None:
    assert clean_styled(text) == shown


@given(anything)
def test_only_safe_styles_survive_and_each_line_is_balanced(text: str) -> None:
    shown = clean_styled(text)
    assert not CONTROL.search(SGR.sub("", shown))
    for sequence in SGR.findall(shown):
        assert {slot for slot, _ in parse_sgr(sequence)} <= {
            "fg", "bg", "bold", "dim", "italic", "underline", "strike", "inverse",
        }  # fmt: skip
    assert all(map(is_closed, shown.split("\n")))
    assert [cells(line) for line in clean_styled(shown).split("\n")] == [cells(s) for s in shown.split("\n")]


@given(st.lists(anything, max_size=4))
def test_styled_text_can_come_line_by_line(lines: list[str]) -> None:
    lines = [line.replace("\n", "").removesuffix("\r") for line in lines]
    shown: list[str] = []
    still_open: dict[str, str] = {}
    for line in lines:
        one, still_open = clean_styled_from(line, still_open)
        shown.append(one)
    assert "\n".join(shown) == clean_styled("\n".join(lines))


def test_hostile_moves_do_not_make_long_lines() -> None:
    assert visible_width(clean_styled("\x1b[99999999Cx\x1b[9999Gy" * 50)) <= 600


def test_many_unfinished_sequences_cost_linear_time() -> None:
    text = "\x1b]0;x" * 50_000
    assert clean(text) == "0;x" * 50_000
    assert clean_styled(text) == "0;x" * 50_000
    assert visible_width("\x1b]0;x" * 50_000) == 200_000


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/x?y=1#z",
        "http://a.example",
        "HTTPS://A.example",
        "mailto:a@b.example",
        "file:///tmp/a;b",
    ],
)
def test_safe_url_makes_a_link(url: str) -> None:
    assert link(url, "text") == f"\x1b]8;;{url}\x1b\\text\x1b]8;;\x1b\\"
    assert visible_width(link(url, "text")) == 4


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://a.example",
        "//a.example",
        "https://a.example/\x07",
        "https://a.example/\x1b\\",
        "https://a.example/\n",
        "https://a.example/\x9c",
        "https://a.example/\u202e",
        "https://a.example/" + "x" * 3000,
        "https://a.example/" + "漢" * 1000,
    ],
)
def test_any_other_url_is_only_its_text(url: str) -> None:
    assert link(url, "text") == "text"


def test_url_with_non_ascii_letters_is_quoted() -> None:
    assert (
        link("https://a.example/ä b\ud800", "t")
        == "\x1b]8;;https://a.example/%C3%A4%20b%3F\x1b\\t\x1b]8;;\x1b\\"
    )
    assert link("https://a.example", "") == ""


def test_styles_can_be_stripped() -> None:
    assert strip_escapes("\x1b[1ma\x1b]8;;u\x1b\\b\x1b]8;;\x1b\\") == "ab"
