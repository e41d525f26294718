"""The gate: no control sequence of foreign text reaches the terminal."""

import re
from random import Random

from tau.tui.component import CURSOR_MARKER
from tau.tui.images.marks import image_rows
from tau.tui.render.row_sanitizer import RowSanitizer
from tau.tui.text.width import visible_width

_PASSES = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\)")


def gated(row: str, width: int = 40, **options: bool) -> str:
    return RowSanitizer(width, **options).line(row).text


def test_clean_rows_pass_unchanged() -> None:
    for row in (
        "",
        "plain",
        "\x1b[1mbold\x1b[22m",
        "漢字 and é",
        "\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\",
    ):
        assert gated(row) == row


def test_sequences_that_move_erase_or_query_are_removed() -> None:
    assert gated("a\x1b[2Jb\x1b[Hc\x1b]0;title\x07d\x1bPq#0\x1b\\e\x1b[6nf\x1b7g") == "abcdefg"


def test_control_and_bidi_characters_are_removed() -> None:
    assert gated("a\rb\nc\td\x07e\x9bf\u202eg\x7f") == "a b c defg"


def test_removing_one_sequence_never_makes_another() -> None:
    assert "\x1b[2J" not in gated("\x1b\x1b[31m[2J\x1b[0m")
    assert "\x1b" not in gated("\x1b\x1b\x1b[").replace("\x1b[", "")


def test_cursor_mark_is_never_written() -> None:
    assert gated(f"ab{CURSOR_MARKER}cd") == "abcd"


def test_overwide_row_is_cut_and_its_styles_closed() -> None:
    line = RowSanitizer(4).line("\x1b[31mabcdefg\x1b[39m")
    assert line.width == 4
    assert line.text == "\x1b[31mabcd\x1b[39m"
    assert RowSanitizer(3).line("漢字").width <= 3


def test_open_styles_and_links_are_closed() -> None:
    assert gated("\x1b[1;31mx").endswith("\x1b[22;39m")
    assert gated("\x1b]8;;https://a.b\x1b\\x").endswith("\x1b]8;;\x1b\\")


def test_links_are_removed_where_unsupported() -> None:
    assert gated("\x1b]8;;https://a.b\x1b\\x\x1b]8;;\x1b\\", hyperlinks=False) == "x"


def test_lone_surrogates_are_replaced() -> None:
    assert gated("a\ud800b") == "a\ufffdb"


def test_only_registered_image_sequences_pass() -> None:
    sequence = image_rows.add("\x1b_Ga=p,i=77\x1b\\")
    line = RowSanitizer(20).line(f"{sequence}ab")
    assert line.image
    assert line.text == f"{sequence}ab"
    assert gated("\x1b_Ga=p,i=78\x1b\\ab") == "ab"
    assert gated(f"{sequence}\x1b_Ga=d\x1b\\ab") == "ab"


def test_equal_rows_give_the_same_line_in_every_frame() -> None:
    gate = RowSanitizer(20)
    first = gate.lines(["a", "\x1b[1mb\x1b[22m"])
    for number in range(9000):
        gate.lines([f"row {number}"])
        again = gate.lines(["a", "\x1b[1mb\x1b[22m"])
        assert again[0] is first[0] or number > 2000
    assert gate.lines(["a"]) == first[:1]


def test_random_input_never_leaks_or_raises() -> None:
    random = Random(7)
    pieces = [
        "\x1b[",
        "\x1b]",
        "\x1b_G",
        "\x1bP",
        "\x1b\\",
        "\x07",
        "8;;http://x",
        "31m",
        "2J",
        "\x9b",
        "漢",
        "a",
        "\u200d",
    ]
    pieces += [chr(code) for code in range(0x00, 0xA0, 3)] + [
        "👩",
        "\u0301",
        "\ud83d",
        "\U0010eeee",
        ";",
        "m",
    ]
    for _ in range(3000):
        row = "".join(random.choices(pieces, k=random.randint(1, 24)))
        width = random.choice((1, 2, 3, 10, 80))
        line = RowSanitizer(width).line(row)
        rest = _PASSES.sub("", line.text)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", rest), repr(row)
        assert line.width == visible_width(line.text) <= width, repr(row)


def test_blanks_at_the_end_are_kept_only_where_they_show() -> None:
    assert RowSanitizer(40).line("ab  ") == ("ab", 2, False)
    assert RowSanitizer(40).line("    ") == ("", 0, False)
    assert RowSanitizer(40).line("\x1b[2mab \x1b[22m ") == ("\x1b[2mab\x1b[22m", 2, False)
    for shown in ("\x1b[44mab \x1b[49m", "\x1b[7m \x1b[27m", "\x1b[4mab \x1b[24m", "\x1b[9m \x1b[29m"):
        assert gated(shown) == shown
        assert gated(f"{shown}  \x1b[1m \x1b[22m") == f"{shown}\x1b[1m\x1b[22m"
    assert RowSanitizer(4).line("\x1b[44mab\x1b[49m     x") == ("\x1b[44mab\x1b[49m", 2, False)
