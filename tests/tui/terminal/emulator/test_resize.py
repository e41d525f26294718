"""Resizing: text rewraps or is cropped, the history meets the screen, the cursor stays at its text."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.terminal.virtual import VirtualTerminal

SENTENCE = "the quick brown fox jumps over the lazy dog"


def lines(count: int) -> str:
    return "\r\n".join(f"line {number}" for number in range(count))


def test_wrapped_text_is_rewrapped_in_screen_and_history() -> None:
    terminal = VirtualTerminal(20, 3)
    terminal.write(f"{SENTENCE}\r\n{SENTENCE}\r\nend")
    assert terminal.tape() == [*_cut(20), *_cut(20), "end"]
    terminal.resize(10, 3)
    assert terminal.tape() == [*_cut(10), *_cut(10), "end"]
    terminal.resize(60, 3)
    assert terminal.tape() == [SENTENCE, SENTENCE, "end"]
    assert terminal.cursor == (2, 3)


def _cut(width: int) -> list[str]:
    return [SENTENCE[start : start + width].rstrip() for start in range(0, len(SENTENCE), width)]


def test_terminated_rows_stay_rows() -> None:
    terminal = VirtualTerminal(20, 5)
    terminal.write("one\r\ntwo\r\n0123456789")
    terminal.resize(40, 5)
    assert terminal.tape() == ["one", "two", "0123456789"]


def test_styles_move_with_their_text() -> None:
    terminal = VirtualTerminal(10, 4)
    terminal.write("0123456789\x1b[31mred\x1b[0m")
    terminal.resize(5, 4)
    assert terminal.screen() == ["01234", "56789", "red", ""]
    assert [terminal.cell(2, x).fg for x in range(4)] == ["1", "1", "1", ""]


def test_cursor_stays_behind_its_text() -> None:
    terminal = VirtualTerminal(10, 4)
    terminal.write("0123456789abc")
    terminal.resize(4, 4)
    terminal.write("d")
    assert terminal.tape() == ["0123", "4567", "89ab", "cd"]
    terminal.resize(30, 4)
    terminal.write("e")
    assert terminal.tape() == ["0123456789abcde"]


def test_wide_character_that_left_a_gap_rejoins_its_text() -> None:
    terminal = VirtualTerminal(5, 4)
    terminal.write("abcd日本")
    assert terminal.tape() == ["abcd", "日本"]
    terminal.resize(8, 4)
    assert terminal.tape() == ["abcd日本"]
    terminal.resize(3, 4)
    assert terminal.tape() == ["abc", "d日", "本"]


def test_taller_terminal_takes_rows_back_if_the_cursor_is_at_the_bottom() -> None:
    terminal = VirtualTerminal(10, 3)
    terminal.write(lines(6))
    terminal.resize(10, 5)
    assert terminal.screen() == ["line 1", "line 2", "line 3", "line 4", "line 5"]
    assert terminal.scrollback() == ["line 0"]
    assert terminal.cursor == (4, 6)


def test_taller_terminal_gets_empty_rows_if_the_cursor_is_not_at_the_bottom() -> None:
    terminal = VirtualTerminal(10, 3)
    terminal.write(lines(6) + "\x1b[1;1H")
    terminal.resize(10, 5)
    assert terminal.screen() == ["line 3", "line 4", "line 5", "", ""]


def test_pane_takes_rows_back_wherever_the_cursor_is() -> None:
    terminal = VirtualTerminal(10, 3, multiplexer=True)
    terminal.write(lines(6) + "\x1b[1;1H")
    terminal.resize(10, 5)
    assert terminal.screen() == ["line 1", "line 2", "line 3", "line 4", "line 5"]
    assert terminal.cursor == (2, 0)


def test_shorter_terminal_pushes_its_top_into_the_history() -> None:
    for reflow in (True, False):
        terminal = VirtualTerminal(10, 5, reflow=reflow)
        terminal.write(lines(5))
        terminal.resize(10, 3)
        assert terminal.scrollback() == ["line 0", "line 1"]
        assert terminal.screen() == ["line 2", "line 3", "line 4"]


def test_shorter_terminal_first_drops_what_is_below_the_cursor() -> None:
    terminal = VirtualTerminal(10, 5)
    terminal.write(lines(5) + "\x1b[2;1H")
    terminal.resize(10, 3)
    assert terminal.tape() == ["line 0", "line 1", "line 2"]


def test_without_reflow_rows_are_cropped_and_padded() -> None:
    terminal = VirtualTerminal(10, 3, reflow=False)
    terminal.write("0123456789abc\r\n日本語日本")
    terminal.resize(5, 3)
    assert terminal.screen() == ["01234", "abc", "日本"]
    terminal.resize(10, 3)
    assert terminal.screen() == ["01234", "abc", "日本"]


def test_alternate_screen_is_cropped_and_the_main_one_rewrapped() -> None:
    terminal = VirtualTerminal(10, 3)
    terminal.write("0123456789abc\x1b[?1049h\x1b[H0123456789abc")
    terminal.resize(5, 3)
    assert terminal.screen()[:2] == ["01234", "abc"]
    terminal.write("\x1b[?1049l")
    assert terminal.screen() == ["01234", "56789", "abc"]


def test_region_is_reset_to_the_whole_screen() -> None:
    terminal = VirtualTerminal(10, 4)
    terminal.write("\x1b[2;3r")
    terminal.resize(10, 5)
    terminal.write(f"\x1b[H{lines(7)}")
    assert terminal.scrollback() == ["line 0", "line 1"]


WORDS = st.text(alphabet=st.sampled_from([*"abc 日本é👍"]), max_size=30).map(str.strip)


@given(
    st.lists(WORDS, min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(2, 40), st.integers(1, 9)), max_size=6),
)
def test_resizes_neither_lose_nor_duplicate_text(texts: list[str], sizes: list[tuple[int, int]]) -> None:
    terminal = VirtualTerminal(17, 5)
    terminal.write("\r\n".join(texts))
    for columns, rows in sizes:
        terminal.resize(columns, rows)
    terminal.resize(200, 5)
    assert [row for row in terminal.tape() if row] == [text for text in texts if text]
