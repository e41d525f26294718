"""Moving the cursor, tabs, regions, and saved state."""

import pytest

from tests.support.terminal.virtual import VirtualTerminal


def after(text: str, columns: int = 10, rows: int = 6) -> VirtualTerminal:
    terminal = VirtualTerminal(columns, rows)
    terminal.write(text)
    return terminal


@pytest.mark.parametrize(
    ("moves", "place"),
    [
        ("\x1b[3;4H", (2, 3)),
        ("\x1b[3;4f", (2, 3)),
        ("\x1b[H", (0, 0)),
        ("\x1b[99;99H", (5, 9)),
        ("\x1b[3;4H\x1b[2A", (0, 3)),
        ("\x1b[3;4H\x1b[9A", (0, 3)),
        ("\x1b[3;4H\x1b[B", (3, 3)),
        ("\x1b[3;4H\x1b[0C", (2, 4)),
        ("\x1b[3;4H\x1b[2D", (2, 1)),
        ("\x1b[3;4H\x1b[2E", (4, 0)),
        ("\x1b[3;4H\x1b[2F", (0, 0)),
        ("\x1b[3;4H\x1b[7G", (2, 6)),
        ("\x1b[3;4H\x1b[5d", (4, 3)),
        ("\x1b[3;4H\x1b[2a", (2, 5)),
        ("\x1b[3;4H\x1b[2e", (4, 3)),
        ("ab\t", (0, 8)),
        ("ab\t\t", (0, 9)),
        ("\x1b[1;10H\x1b[Z", (0, 8)),
        ("\x1b[2I", (0, 9)),
        ("ab\x1bH\r\t", (0, 2)),
        ("\x1b[3g\t", (0, 9)),
        ("\x1b[3;4H\x1bE", (3, 0)),
        ("\x1b[3;4H\x1bD", (3, 3)),
        ("\x1b[3;4H\x1bM", (1, 3)),
        ("\x1b[3;4H\x1b7\x1b[H\x1b8", (2, 3)),
        ("\x1b[3;4H\x1b[s\x1b[H\x1b[u", (2, 3)),
        ("\x1b[20h\x1b[2;3H\n", (2, 0)),
    ],
)
def test_cursor_moves(moves: str, place: tuple[int, int]) -> None:
    assert after(moves).cursor == place


def test_region_stops_moves_that_start_in_it() -> None:
    assert after("\x1b[2;4r\x1b[3;1H\x1b[9A").cursor == (1, 0)
    assert after("\x1b[2;4r\x1b[3;1H\x1b[9B").cursor == (3, 0)
    assert after("\x1b[2;4r\x1b[6;1H\x1b[9A").cursor == (1, 0)


def test_origin_mode_counts_from_the_region() -> None:
    terminal = after("\x1b[2;4r\x1b[?6h\x1b[1;1Hx\x1b[99;1Hy\x1b[6n")
    assert terminal.screen() == ["", "x", "", "y", "", ""]
    assert terminal.replies == ["\x1b[3;2R"]


def test_region_of_one_row_is_refused() -> None:
    assert after("abc\x1b[3;3r").cursor == (0, 3)


def test_saved_cursor_keeps_style_and_pending_wrap() -> None:
    terminal = after("\x1b[31m0123456789\x1b7\x1b[0m\x1b[H\x1b8x")
    assert terminal.screen()[:2] == ["0123456789", "x"]
    assert terminal.cell(1, 0).fg == "1"


def test_reverse_index_at_the_top_scrolls_down_and_keeps_the_history() -> None:
    terminal = after("one\r\ntwo\x1b[H\x1bMzero")
    assert terminal.screen()[:3] == ["zero", "one", "two"]
    assert terminal.scrollback() == []


def test_reset_clears_everything() -> None:
    terminal = after("a\r\n" * 10 + "\x1b[31m\x1b[2;3r\x1b[?7l\x1bcx")
    assert terminal.tape() == ["x"]
    assert terminal.cell(0, 0).fg == ""
    assert terminal.modes[7]


def test_soft_reset_keeps_the_screen() -> None:
    terminal = after("text\x1b[31m\x1b[?25l\x1b[2;3r\x1b[!p\x1b[6;1Hx\n")
    assert terminal.screen() == ["", "", "", "", "x", ""]
    assert terminal.scrollback() == ["text"]
    assert terminal.cursor_visible


def test_alignment_pattern_fills_the_screen() -> None:
    assert after("\x1b#8", 3, 2).screen() == ["EEE", "EEE"]
