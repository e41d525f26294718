"""The editor on a terminal: the real cursor is in the cell where the next character appears."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.text.width import graphemes
from tests.support.fake_timer import FakeTimer
from tests.support.soak import examples
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.widgets.editor.editor_rig import cursor, editor

LETTERS = st.sampled_from(
    ["a", " ", "é", "e\u0301", "日", "🙂", "👩‍👩‍👧", "🇩🇪", "\n", "\t", "\u200b", "ab cd "]
)
MOVES = st.lists(st.sampled_from(["left", "right", "up", "home", "alt+b", "backspace"]), max_size=10)


def test_typed_text_appears_and_the_cursor_is_behind_it() -> None:
    terminal, timer = VirtualTerminal(20, 8), FakeTimer()
    screen = Screen(terminal, theme=Theme({}), timer=timer)
    edited = editor(prompt="> ")
    screen.root.add(edited)
    screen.focus(edited)
    screen.start()
    timer.advance(1)
    terminal.type("日本 hi")
    timer.advance(1)
    assert terminal.screen()[1] == "> 日本 hi"
    assert terminal.cursor == (1, 9)
    screen.stop()


@examples(30)
@given(st.lists(LETTERS, max_size=20).map("".join), MOVES, st.integers(3, 15))
def test_cursor_cell_holds_the_character_at_the_cursor(text: str, moves: list[str], width: int) -> None:
    terminal, timer = VirtualTerminal(width, 40), FakeTimer()
    screen = Screen(terminal, theme=Theme({}), timer=timer)
    edited = editor(text, max_rows=30)
    screen.root.add(edited)
    screen.focus(edited)
    screen.start()
    for move in moves:
        terminal.press(move)
    timer.advance(1)
    behind = edited.text[cursor(edited) :].partition("\n")[0]
    expected = next(graphemes(behind), " ")
    shown = {"\t": " ", "\u200b": "\ufffd"}.get(expected, expected)
    assert (terminal.cell(*terminal.cursor).char or " ") == shown
    screen.stop()
