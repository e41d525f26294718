"""Kills and yanks, undo and redo, newlines, sending."""

import pytest

from tau.tui.input.bindings import Keymap
from tau.tui.widgets.editor.bindings import EDITOR_BINDINGS
from tau.tui.widgets.editor.document import MAX_KILLS, MAX_UNDO_STEPS, KillRing
from tau.tui.widgets.editor.editor import Editor
from tests.tui.widgets.editor.editor_rig import cursor, editor, paste, press, typed


def test_consecutive_kills_are_joined_forward_and_backward() -> None:
    edited = editor("one two three")
    press(edited, "ctrl+home", "alt+d", "alt+d")
    assert edited.text == " three"
    press(edited, "ctrl+end", "ctrl+y")
    assert edited.text == " threeone two"
    press(edited, "ctrl+w", "ctrl+w", "ctrl+w", "ctrl+y")
    assert edited.text == " threeone two"


def test_move_between_kills_starts_a_new_entry_and_yank_pop_cycles_to_the_older() -> None:
    edited = editor("one two")
    press(edited, "ctrl+w", "left", "ctrl+k", "ctrl+u")
    assert edited.is_empty
    press(edited, "ctrl+y")
    assert edited.text == "one "
    press(edited, "alt+y")
    assert edited.text == "two"
    press(edited, "alt+y")
    assert edited.text == "one "
    press(edited, "left", "alt+y")
    assert edited.text == "one "


def test_killing_to_the_line_end_takes_the_newline_if_there_is_nothing_else() -> None:
    edited = editor("ab\ncd")
    press(edited, "ctrl+home", "ctrl+k", "ctrl+k")
    assert edited.text == "cd"
    press(edited, "ctrl+y")
    assert edited.text == "ab\ncd"


def test_whole_line_can_be_deleted() -> None:
    edited = editor("a\nb\nc")
    press(edited, "up", "ctrl+shift+k")
    assert edited.text == "a\nc"
    press(edited, "ctrl+end", "ctrl+shift+k")
    assert edited.text == "a"
    press(edited, "ctrl+shift+k")
    assert edited.is_empty


def test_two_characters_can_be_transposed_by_a_custom_key() -> None:
    keys = Keymap({"tui.editor.transpose": ["ctrl+t"]}, extra=EDITOR_BINDINGS)
    edited = editor("ab日", keys=keys)
    press(edited, "ctrl+t")
    assert edited.text == "a日b"
    press(edited, "ctrl+home", "ctrl+t")
    assert edited.text == "a日b"


def test_kill_ring_is_bounded() -> None:
    ring = KillRing()
    for number in range(MAX_KILLS + 5):
        ring.push(str(number))
    assert next(iter(ring)) == "5" and len(list(ring)) == MAX_KILLS


def test_typed_words_are_undone_one_at_a_time() -> None:
    edited = editor()
    typed(edited, "one two  three")
    press(edited, "ctrl+-")
    assert edited.text == "one two  "
    press(edited, "ctrl+-")
    assert edited.text == "one "
    press(edited, "ctrl+-")
    assert edited.is_empty
    press(edited, "alt+-", "alt+-")
    assert edited.text == "one two  "
    typed(edited, "!")
    press(edited, "alt+-")
    assert edited.text == "one two  !"


def test_move_starts_a_new_undo_group() -> None:
    edited = editor()
    typed(edited, "ab")
    press(edited, "left", "right")
    typed(edited, "cd")
    press(edited, "ctrl+-")
    assert edited.text == "ab"


def test_erased_letters_are_restored_word_by_word_with_the_cursor() -> None:
    edited = editor("one two")
    press(edited, *["backspace"] * 5)
    assert edited.text == "on"
    press(edited, "ctrl+-")
    assert edited.text == "one "
    press(edited, "ctrl+-")
    assert (edited.text, cursor(edited)) == ("one two", 7)


def test_paste_and_set_text_are_one_undo_each() -> None:
    edited = editor("first")
    paste(edited, "a b c\nd")
    press(edited, "ctrl+-")
    assert edited.text == "first"
    edited.clear()
    assert edited.is_empty
    press(edited, "ctrl+-")
    assert edited.text == "first"


def test_undo_is_bounded() -> None:
    edited = editor()
    for number in range(MAX_UNDO_STEPS + 10):
        edited.insert(str(number % 10))
    press(edited, *["ctrl+-"] * (MAX_UNDO_STEPS + 10))
    assert len(edited.text) == 10


def test_enter_sends_the_text_and_leaves_an_empty_editor() -> None:
    sent: list[str] = []
    edited = editor(" keep\tthis \n", on_submit=sent.append)
    press(edited, "enter")
    assert sent == [" keep\tthis \n"]
    assert edited.is_empty
    press(edited, "ctrl+-")
    assert edited.is_empty


def test_refused_text_stays_with_its_cursor_and_undo() -> None:
    edited = editor(on_submit=lambda text: False)
    typed(edited, "one two")
    press(edited, "left", "enter")
    assert (edited.text, cursor(edited)) == ("one two", 6)
    press(edited, "ctrl+-")
    assert edited.text == "one "


def test_text_returns_when_sending_fails() -> None:
    def fail(text: str) -> None:
        raise RuntimeError("no network")

    edited = editor("precious", on_submit=fail)
    with pytest.raises(RuntimeError):
        press(edited, "enter")
    assert edited.text == "precious"


def test_text_inserted_by_the_receiver_stays() -> None:
    edited: Editor = editor("/edit", on_submit=lambda text: edited.set_text("template"))
    press(edited, "enter")
    assert edited.text == "template"


def test_newlines_come_from_their_key_and_from_backslash_enter() -> None:
    sent: list[str] = []
    edited = editor("a", on_submit=sent.append)
    press(edited, "shift+enter")
    typed(edited, "b\\")
    press(edited, "enter")
    typed(edited, "c")
    assert (edited.text, sent) == ("a\nb\nc", [])
    press(edited, "enter")
    assert sent == ["a\nb\nc"]


def test_each_change_is_reported_once() -> None:
    seen: list[str] = []
    edited: Editor = editor(on_change=lambda: seen.append(edited.text), on_submit=lambda text: None)
    typed(edited, "ab")
    press(edited, "left", "backspace", "left")
    edited.set_text("new")
    edited.set_text("new")
    press(edited, "enter")
    assert seen == ["a", "ab", "b", "new", ""]


def test_foreign_text_loses_control_sequences_and_keeps_tabs_and_newlines() -> None:
    edited = editor("a\tb\r\nc\rd\x1b[31mred\x1b[0m\x07\x00\x7f\x9b2J\u202e\x1b]52;c;eA==\x07")
    assert edited.text == "a\tb\nc\ndred"
    paste(edited, "\x1b[200~\ud83d")
    assert edited.text == "a\tb\nc\ndred\ufffd"
    edited.insert("\x0c\x1b_tau:cursor\x1b\\")
    assert edited.text == "a\tb\nc\ndred\ufffd"
