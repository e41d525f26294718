"""Alternate screens, held frames, and a user who scrolled up."""

from tests.support.terminal.virtual import VirtualTerminal


def terminal_with(text: str, columns: int = 10, rows: int = 4) -> VirtualTerminal:
    terminal = VirtualTerminal(columns, rows)
    terminal.write(text)
    return terminal


def test_alternate_screen_has_no_history_and_leaves_the_other_alone() -> None:
    terminal = terminal_with("one\r\ntwo\x1b[31m\x1b[?1049h")
    assert terminal.alternate
    assert terminal.screen() == [""] * 4
    terminal.write("\x1b[0m" + "x\r\n" * 9)
    assert terminal.scrollback() == []
    terminal.write("\x1b[?1049l!")
    assert terminal.screen()[:2] == ["one", "two!"]
    assert terminal.cell(1, 3).fg == "1"


def test_older_alternate_screens_work_too() -> None:
    for mode in (47, 1047):
        terminal = terminal_with(f"main\x1b[?{mode}halt")
        assert terminal.screen()[0] == "    alt"
        terminal.write(f"\x1b[?{mode}l")
        assert terminal.screen()[0] == "main"


def test_synchronized_frame_appears_only_at_its_end() -> None:
    terminal = terminal_with("before")
    terminal.write("\x1b[?2026h\r\x1b[Kafter")
    assert terminal.visible_screen()[0] == "before"
    assert terminal.visible_cursor() == (0, 6)
    assert terminal.screen()[0] == "after"
    terminal.write("\x1b[?2026l")
    assert terminal.visible_screen()[0] == "after"
    assert terminal.visible_cursor() == (0, 5)


def test_resize_ends_a_held_frame() -> None:
    terminal = terminal_with("before\x1b[?2026h\r\x1b[Kafter")
    terminal.resize(12, 4)
    assert terminal.visible_screen()[0] == "after"


def test_modes_are_kept() -> None:
    terminal = terminal_with("\x1b[?25l\x1b[?1004;2004;2031h\x1b[?2004l")
    assert not terminal.cursor_visible
    assert [terminal.modes[mode] for mode in (1004, 2004, 2031)] == [True, False, True]


def test_scrolled_view_stays_while_rows_are_added() -> None:
    terminal = terminal_with("".join(f"{number}\r\n" for number in range(20)))
    terminal.scroll_view(5)
    seen = terminal.pinned_view()
    assert seen == ["12", "13", "14", "15"]
    terminal.write("more\r\n" * 9)
    assert terminal.pinned_view() == seen
    terminal.scroll_view(0)
    assert terminal.pinned_view() == terminal.screen()


def test_view_near_the_bottom_shows_history_and_screen() -> None:
    terminal = terminal_with("".join(f"{number}\r\n" for number in range(6)))
    terminal.scroll_view(1)
    assert terminal.pinned_view() == ["2", "3", "4", "5"]
    terminal.write("\x1b[2;1H\x1b[2Kx")
    assert terminal.pinned_view() == ["2", "3", "x", "5"]


def test_view_jumps_to_the_bottom_when_the_history_is_cleared() -> None:
    terminal = terminal_with("".join(f"{number}\r\n" for number in range(20)))
    terminal.scroll_view(5)
    terminal.write("\x1b[3J")
    assert terminal.pinned_view() == terminal.screen()


def test_view_of_a_full_history_moves_along() -> None:
    terminal = VirtualTerminal(10, 2, scrollback_limit=4)
    terminal.write("".join(f"{number}\r\n" for number in range(8)))
    terminal.scroll_view(2)
    assert terminal.pinned_view() == ["5", "6"]
    terminal.write("8\r\n9\r\n")
    assert terminal.pinned_view() == ["5", "6"]
    terminal.write("a\r\nb\r\n")
    assert terminal.pinned_view() == ["7", "8"]
