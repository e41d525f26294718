"""A picture of the screen shows its text, styles and lines, on the grid of the terminal."""

from xml.etree import ElementTree

import pytest

from tests.support.terminal.virtual import VirtualTerminal
from tools.terminal_svg import ANSI, BACKGROUND, CELL_WIDTH, FOREGROUND, terminal_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(output: str, *, cursor: tuple[int, int] | None = None) -> ElementTree.Element:
    """Return the group that has the cells."""
    terminal = VirtualTerminal(20, 2)
    terminal.write(output)
    rows = [[terminal.cell(y, x) for x in range(20)] for y in range(2)]
    root = ElementTree.fromstring(terminal_svg(rows, cursor, "a <title>"))
    assert root.findtext(f"{SVG}title") == "a <title>"
    group = root.find(f"{SVG}g")
    assert group is not None
    return group


def texts(group: ElementTree.Element) -> list[tuple[str | None, dict[str, str]]]:
    return [(one.text, one.attrib) for one in group.iter(f"{SVG}text")]


def test_run_of_one_style_is_one_text_on_the_grid() -> None:
    ((text, style),) = texts(drawn("  a < b & c"))
    assert text == "a < b & c"
    assert float(style["x"]) == pytest.approx(2 * CELL_WIDTH)
    assert float(style["textLength"]) == pytest.approx(9 * CELL_WIDTH)
    assert style["fill"] == FOREGROUND


def test_words_with_several_spaces_between_them_keep_their_columns() -> None:
    found = texts(drawn("/a  b c   d"))
    assert [text for text, _ in found] == ["/a", "b c", "d"]
    assert [round(float(style["x"]) / CELL_WIDTH) for _, style in found] == [0, 4, 10]


@pytest.mark.parametrize(
    ("sgr", "expected"),
    [
        ("1", {"font-weight": "bold"}),
        ("3", {"font-style": "italic"}),
        ("4", {"text-decoration": "underline"}),
        ("9", {"text-decoration": "line-through"}),
        ("4;9", {"text-decoration": "underline line-through"}),
        ("31", {"fill": ANSI[1]}),
        ("97", {"fill": ANSI[15]}),
        ("38;5;196", {"fill": "#ff0000"}),
        ("38;5;232", {"fill": "#080808"}),
        ("38;2;1;2;3", {"fill": "#010203"}),
        ("7", {"fill": BACKGROUND}),
        ("2;38;2;100;100;100", {"fill": "#444547"}),
    ],
)
def test_style_of_a_cell_is_the_style_of_its_text(sgr: str, expected: dict[str, str]) -> None:
    ((text, style),) = texts(drawn(f"\x1b[{sgr}mword"))
    assert text == "word"
    assert {key: style.get(key) for key in expected} == expected


def test_background_is_a_rectangle_below_the_text() -> None:
    group = drawn("\x1b[48;2;9;8;7mab\x1b[m \x1b[7mcd")
    boxes = [(one.get("fill"), float(one.attrib["width"])) for one in group.iter(f"{SVG}rect")]
    assert boxes == [("#090807", 2 * CELL_WIDTH), (FOREGROUND, 2 * CELL_WIDTH)]
    assert next(iter(group)).tag == f"{SVG}rect"


def test_wide_characters_keep_what_follows_in_its_column() -> None:
    found = texts(drawn("表x❯y"))
    columns = [(text, round(float(style["x"]) / CELL_WIDTH)) for text, style in found]
    assert columns == [("表", 0), ("x", 2), ("❯", 3), ("y", 4)]


def test_rules_and_frames_are_lines() -> None:
    group = drawn("───\r\n├─ x")
    assert [text for text, _ in texts(group)] == ["x"]
    rule, branch = [one.attrib["d"] for one in group.iter(f"{SVG}path")]
    assert rule == "M0 9h25.2"
    assert branch == "M4.2 27l0 -9M4.2 27l0 9M4.2 27l4.2 0M8.4 27h8.4"


def test_cursor_is_an_inverse_cell() -> None:
    group = drawn("ab", cursor=(0, 1))
    assert [one.get("fill") for one in group.iter(f"{SVG}rect")] == [FOREGROUND]
    assert [(text, style["fill"]) for text, style in texts(group)] == [("a", FOREGROUND), ("b", BACKGROUND)]
    (box,) = drawn("ab", cursor=(1, 4)).iter(f"{SVG}rect")
    assert float(box.attrib["x"]) == pytest.approx(4 * CELL_WIDTH)


def test_hidden_text_is_not_in_the_picture() -> None:
    assert texts(drawn("\x1b[8msecret")) == []
