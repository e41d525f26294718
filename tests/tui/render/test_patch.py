"""A row is patched into another with few bytes, and exactly."""

from random import Random

from tau.tui.render.emit import patch
from tau.tui.render.row_sanitizer import RowSanitizer, SafeRow
from tests.support.terminal.virtual import VirtualTerminal

GATE = RowSanitizer(30)


def after(old: str, new: str) -> tuple[VirtualTerminal, str]:
    """A terminal with the old row patched into the new one, and the patch."""
    terminal = VirtualTerminal(30, 2)
    before, wanted = GATE.line(old), GATE.line(new)
    terminal.feed(f"\x1b[?7l{before.text}")
    text = patch(before, wanted)
    terminal.feed(text)
    return terminal, text


def cells(terminal: VirtualTerminal) -> list[object]:
    return [terminal.cell(0, column) for column in range(30)]


def whole(row: str) -> VirtualTerminal:
    terminal = VirtualTerminal(30, 2)
    terminal.feed(f"\x1b[?7l{GATE.line(row).text}")
    return terminal


def test_only_appended_text_is_written() -> None:
    _, text = after("the quick brown", "the quick brown fox")
    assert text == "\x1b[16G fox"


def test_removed_end_is_erased() -> None:
    terminal, text = after("the quick brown fox", "the quick brown")
    assert text == "\x1b[16G\x1b[K"
    assert terminal.screen()[0] == "the quick brown"


def test_open_styles_are_reopened() -> None:
    old, new = "\x1b[31mred text here\x1b[39m", "\x1b[31mred text here and more\x1b[39m"
    terminal, text = after(old, new)
    assert cells(terminal) == cells(whole(new))
    assert text == "\x1b[14G\x1b[31m and more\x1b[39m"


def test_combining_mark_rewrites_its_character() -> None:
    terminal, _ = after("abcdefgh e", "abcdefgh e\u0301")
    assert cells(terminal) == cells(whole("abcdefgh e\u0301"))


def test_full_row_loses_nothing_to_erasing() -> None:
    terminal, _ = after("x" * 30, "x" * 29 + "y")
    assert terminal.screen()[0] == "x" * 29 + "y"


def test_rows_with_pictures_are_written_completely() -> None:
    picture = SafeRow("\x1b_Ga=p,i=1\x1b\\abcdefgh", 8, True)
    assert patch(SafeRow("abcdefgh", 8), picture).endswith(picture.text)


def test_random_rows_are_patched_into_each_other() -> None:
    random = Random(3)
    parts = [
        "abc",
        "def ",
        "漢字",
        "\x1b[1m",
        "\x1b[22m",
        "\x1b[38;5;3m",
        "\x1b[39m",
        "👩\u200d💻",
        "e\u0301",
        "\x1b[48;2;1;2;3m",
    ]
    parts += ["\x1b[0m", "\x1b]8;;https://a.b/c\x1b\\", "\x1b]8;;\x1b\\", " ", "\x1b[7m", "─"]
    for _ in range(1500):
        shared = random.choices(parts, k=random.randint(0, 6))
        old = "".join(shared + random.choices(parts, k=random.randint(0, 4)))
        new = "".join(shared + random.choices(parts, k=random.randint(0, 4)))
        terminal, _ = after(old, new)
        assert cells(terminal) == cells(whole(new)), (old, new)
