"""Colors, attributes and links of cells."""

import pytest

from tests.support.terminal.virtual import Cell, VirtualTerminal


def cell(sequence: str) -> Cell:
    terminal = VirtualTerminal(10, 2)
    terminal.write(sequence + "x")
    return terminal.cell(0, 0)


@pytest.mark.parametrize(
    ("params", "fg", "bg"),
    [
        ("31", "1", ""),
        ("97", "15", ""),
        ("42", "", "2"),
        ("103", "", "11"),
        ("38;5;200", "200", ""),
        ("38:5:200", "200", ""),
        ("48;2;1;2;255", "", "#0102ff"),
        ("48:2:1:2:255", "", "#0102ff"),
        ("48:2::1:2:255", "", "#0102ff"),
        ("38;5;200;48;5;3", "200", "3"),
        ("31;42;39", "", "2"),
        ("31;42;49", "1", ""),
        ("31;42;0", "", ""),
        ("31;42;", "", ""),
        ("38;5;999;42", "", "2"),
        ("38;9;42", "", "2"),
        ("38", "", ""),
    ],
)
def test_colors(params: str, fg: str, bg: str) -> None:
    found = cell(f"\x1b[{params}m")
    assert (found.fg, found.bg) == (fg, bg)


@pytest.mark.parametrize(
    ("params", "attrs"),
    [
        ("1", {"bold"}),
        ("1;2;3;5;7;8;9;53", {"bold", "dim", "italic", "blink", "inverse", "hidden", "strike", "overline"}),
        ("1;2;22", set()),
        ("3;9;23", {"strike"}),
        ("7;27", set()),
        ("4", {"underline"}),
        ("4:3", {"underline"}),
        ("4:3;4:0", set()),
        ("21", {"underline"}),
        ("4;24", set()),
    ],
)
def test_attributes(params: str, attrs: set[str]) -> None:
    assert cell(f"\x1b[{params}m").attrs == attrs


@pytest.mark.parametrize(
    ("params", "style"), [("4", "single"), ("21", "double"), ("4:3", "curly"), ("4:5", "dashed")]
)
def test_underlines_have_styles_and_colors(params: str, style: str) -> None:
    found = cell(f"\x1b[{params};58:5:9m")
    assert (found.underline, found.underline_color) == (style, "9")


def test_links_last_until_they_are_closed_and_survive_a_reset_of_styles() -> None:
    terminal = VirtualTerminal(10, 2)
    terminal.write("\x1b]8;id=1;https://example.org\x1b\\a\x1b[0mb\x1b]8;;\x1b\\c")
    assert [terminal.cell(0, x).link for x in range(3)] == ["https://example.org"] * 2 + [""]


def test_rectangle_changes_attributes_but_not_text() -> None:
    terminal = VirtualTerminal(6, 3)
    terminal.write("abcdef\r\nghijkl\x1b[2*x\x1b[1;2;2;4;48:2::1:2:3$r")
    assert terminal.screen() == ["abcdef", "ghijkl", ""]
    filled = {(y, x) for y in range(3) for x in range(6) if terminal.cell(y, x).bg == "#010203"}
    assert filled == {(y, x) for y in range(2) for x in range(1, 4)}


def test_without_rectangle_mode_the_change_follows_the_text_stream() -> None:
    terminal = VirtualTerminal(6, 3)
    terminal.write("\x1b[1;5;2;2;7$r")
    changed = {(y, x) for y in range(3) for x in range(6) if "inverse" in terminal.cell(y, x).attrs}
    assert changed == {(0, 4), (0, 5), (1, 0), (1, 1)}


def test_late_combining_mark_keeps_the_style_of_its_character() -> None:
    terminal = VirtualTerminal(10, 2)
    terminal.write("\x1b[31me\x1b[32m\u0301")
    assert terminal.cell(0, 0)[:2] == ("e\u0301", "1")
