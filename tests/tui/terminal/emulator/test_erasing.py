"""Erasing, inserting, deleting and scrolling, and what of it reaches the history."""

import pytest

from tests.support.terminal.virtual import Habits, VirtualTerminal

ROWS = "\r\n".join(("one", "two", "three", "four", "five"))


def after(text: str, **options: bool) -> VirtualTerminal:
    terminal = VirtualTerminal(10, 5, **options)
    terminal.write(ROWS + text)
    return terminal


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("\x1b[3;3H\x1b[J", ["one", "two", "th", "", ""]),
        ("\x1b[3;3H\x1b[0J", ["one", "two", "th", "", ""]),
        ("\x1b[3;3H\x1b[1J", ["", "", "   ee", "four", "five"]),
        ("\x1b[2J", ["", "", "", "", ""]),
        ("\x1b[3;3H\x1b[K", ["one", "two", "th", "four", "five"]),
        ("\x1b[3;3H\x1b[1K", ["one", "two", "   ee", "four", "five"]),
        ("\x1b[3;3H\x1b[2K", ["one", "two", "", "four", "five"]),
        ("\x1b[3;3H\x1b[2X", ["one", "two", "th  e", "four", "five"]),
        ("\x1b[3;3H\x1b[2@", ["one", "two", "th  ree", "four", "five"]),
        ("\x1b[3;3H\x1b[2P", ["one", "two", "the", "four", "five"]),
        ("\x1b[3;3H\x1b[99P", ["one", "two", "th", "four", "five"]),
        ("\x1b[3;3H\x1b[2L", ["one", "two", "", "", "three"]),
        ("\x1b[3;3H\x1b[2M", ["one", "two", "five", "", ""]),
        ("\x1b[2;4r\x1b[3H\x1b[L", ["one", "two", "", "three", "five"]),
        ("\x1b[2;4r\x1b[3H\x1b[M", ["one", "two", "four", "", "five"]),
        ("\x1b[2;4r\x1b[5H\x1b[M", ["one", "two", "three", "four", "five"]),
        ("\x1b[2T", ["", "", "one", "two", "three"]),
        ("\x1b[2;4r\x1b[S", ["one", "three", "four", "", "five"]),
        ("\x1b[2;4r\x1b[T", ["one", "", "two", "three", "five"]),
        ("\x1b[2;4r\x1b[4H\nx", ["one", "three", "four", "x", "five"]),
    ],
)
def test_screen_changes_and_the_history_does_not(text: str, rows: list[str]) -> None:
    terminal = after(text)
    assert terminal.screen() == rows
    assert terminal.scrollback() == []


def test_rows_that_scroll_off_the_top_are_the_history() -> None:
    terminal = after("\r\nsix\r\nseven")
    assert terminal.scrollback() == ["one", "two"]
    assert terminal.tape() == ["one", "two", "three", "four", "five", "six", "seven"]


def test_region_at_the_top_feeds_the_history_and_leaves_the_rows_below_it() -> None:
    terminal = after("\x1b[1;3r\x1b[3H\r\nx\r\ny")
    assert terminal.scrollback() == ["one", "two"]
    assert terminal.screen() == ["three", "x", "y", "four", "five"]


def test_scrolling_up_feeds_the_history_if_the_terminal_does_so() -> None:
    assert after("\x1b[2S").scrollback() == ["one", "two"]
    assert after("\x1b[2S", habits=Habits(scroll_up_saves=False)).scrollback() == []


def test_erasing_the_history_leaves_the_screen() -> None:
    terminal = after("\r\nsix\x1b[3J")
    assert terminal.scrollback() == []
    assert terminal.screen() == ["two", "three", "four", "five", "six"]


def test_screen_can_be_saved_into_the_history() -> None:
    terminal = after("\x1b[22J")
    assert terminal.scrollback() == ["one", "two", "three", "four", "five"]
    assert terminal.screen() == [""] * 5


def test_pane_keeps_its_history_and_cleared_content() -> None:
    terminal = after("\r\nsix\x1b[3J\x1b[2J", multiplexer=True)
    assert terminal.scrollback() == ["one", "two", "three", "four", "five", "six"]


def test_history_has_a_limit_and_reports_its_loss() -> None:
    terminal = VirtualTerminal(10, 2, scrollback_limit=3)
    terminal.write("".join(f"{number}\r\n" for number in range(8)))
    assert terminal.tape() == ["4", "5", "6", "7"]
    assert terminal.scrollback_dropped == 4


def test_erasing_after_a_full_row_differs_between_terminals() -> None:
    for reflow, row in ((True, "0123456789"), (False, "012345678")):
        terminal = VirtualTerminal(10, 2, reflow=reflow)
        terminal.write("0123456789\x1b[K")
        assert terminal.screen()[0] == row


def test_erased_cells_take_the_background_and_nothing_else() -> None:
    terminal = after("\x1b[3;3H\x1b[1;4;31;44m\x1b[K")
    cell = terminal.cell(2, 5)
    assert (cell.char, cell.fg, cell.bg, cell.attrs) == (" ", "", "4", frozenset())


def test_erasing_half_of_a_wide_character_erases_all_of_it() -> None:
    terminal = VirtualTerminal(10, 2)
    terminal.write("日本語\x1b[1;4H\x1b[K")
    assert terminal.screen()[0] == "日"
    terminal.write("\x1b[1;2H\x1b[P")
    assert terminal.screen()[0] == ""
