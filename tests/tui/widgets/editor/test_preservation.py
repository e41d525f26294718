"""Typed text survives keys, pastes and undo; and what keys mean."""

import pytest

from tau.tui.input.decoder import InputDecoder
from tau.tui.input.key import InputEvent, Key
from tau.tui.terminal.replies import TerminalReply
from tau.tui.widgets.editor.editor import Editor
from tests.support.fake_timer import FakeTimer
from tests.support.memory_history import MemoryHistory
from tests.tui.widgets.editor.editor_rig import cursor, editor, paste, press, text_rows, typed

LINES_5000 = "\n".join(f"line {number}" for number in range(5_000))


def feed_bytes(edited: Editor, *pieces: bytes) -> list[str]:
    """Feed terminal bytes; returns the names of the keys the editor did not handle."""
    timer = FakeTimer()
    ignored: list[str] = []

    def hand_over(events: "list[InputEvent | TerminalReply]") -> None:
        for event in events:
            assert not isinstance(event, TerminalReply)
            if not edited.handle_input(event):
                assert isinstance(event, Key)
                ignored.append(event.name)

    buffer = InputDecoder(hand_over, timer)
    for piece in pieces:
        buffer.feed(piece)
        timer.advance(0.002)
    timer.advance(2.0)
    buffer.close()
    return ignored


def test_five_thousand_lines_can_be_undone_and_redone() -> None:
    edited = editor("before ")
    paste(edited, LINES_5000)
    typed(edited, " after")
    press(edited, "ctrl+-", "ctrl+-", "ctrl+-")
    assert edited.text == "before "
    press(edited, "alt+-", "alt+-", "alt+-")
    assert edited.text == f"before {LINES_5000} after"
    assert text_rows(edited, 60) == ["before [Pasted text #1 +5,000 lines] after|"]


def test_expanded_and_edited_paste_is_sent_as_edited() -> None:
    sent: list[str] = []
    edited = editor(on_submit=sent.append)
    paste(edited, LINES_5000)
    press(edited, "alt+e", "ctrl+end")
    typed(edited, "!")
    press(edited, "ctrl+home")
    typed(edited, "see: ")
    press(edited, "enter")
    assert sent == [f"see: {LINES_5000}!"]


def test_undo_folds_an_expanded_paste_again() -> None:
    edited = editor("a ")
    paste(edited, LINES_5000)
    press(edited, "alt+e")
    typed(edited, "x")
    press(edited, "ctrl+-", "ctrl+-")
    assert text_rows(edited) == ["a [Pasted text #1 +5,000 lines]|"]
    assert edited.text == f"a {LINES_5000}"


def test_picture_mark_is_killed_yanked_and_undone_like_a_letter() -> None:
    edited = editor("look ")
    edited.insert_marker("[shot.png 3 kB]", "[Image #1: shot.png]")
    typed(edited, " here")
    press(edited, "ctrl+u")
    assert edited.is_empty
    press(edited, "ctrl+y")
    assert edited.text == "look [Image #1: shot.png] here"
    press(edited, "ctrl+w", "ctrl+w")
    assert edited.text == "look "
    press(edited, "ctrl+-", "ctrl+-")
    assert edited.text == "look [Image #1: shot.png] here"
    press(edited, "alt+-", "alt+-", "ctrl+y")
    assert edited.text == "look [Image #1: shot.png] here"
    assert text_rows(edited) == ["look [shot.png 3 kB] here|"]


def test_replaced_text_keeps_common_parts_folded() -> None:
    edited = editor("one ")
    paste(edited, LINES_5000)
    edited.insert_marker("[shot.png 3 kB]", "[Image #1: shot.png]")
    edited.set_text(f"two {LINES_5000}, changed [Image #1: shot.png].")
    assert text_rows(edited, 60) == ["two [Pasted text #1 +5,000 lines], changed [shot.png 3 kB].|"]
    assert edited.text == f"two {LINES_5000}, changed [Image #1: shot.png]."
    edited.set_text(f"[Image #1: shot.png] before {LINES_5000}x")
    assert edited.text == f"[Image #1: shot.png] before {LINES_5000}x"
    press(edited, "ctrl+-")
    assert edited.text == f"two {LINES_5000}, changed [Image #1: shot.png]."


def test_escape_sequences_inside_a_paste_are_removed_and_press_no_keys() -> None:
    sent: list[str] = []
    edited = editor(on_submit=sent.append)
    pasted = b"\x1b[200~one\x1b[A\x1b[31mtwo\x1b[0m\r\x03three\x1b]0;title\x07 \x00four\x1b[201~"
    for cut in range(1, len(pasted)):
        edited.clear()
        assert feed_bytes(edited, pasted[:cut], pasted[cut:]) == []
        assert edited.text == "onetwo\nthree four", cut
    assert sent == []


@pytest.mark.parametrize(
    ("terminal", "sequence"),
    [
        ("kitty", b"\x1b[13;2u"),
        ("kitty with events", b"\x1b[13;2:1u"),
        ("modifyOtherKeys", b"\x1b[27;2;13~"),
        ("Ctrl+J anywhere", b"\n"),
        ("Ctrl+J in kitty", b"\x1b[106;5u"),
        ("Ctrl+J with modifyOtherKeys", b"\x1b[27;5;106~"),
        ("backslash and Enter", b"\\\r"),
        ("Shift+Enter on the keypad in kitty", b"\x1b[57414;2u"),
    ],
)
def test_newline_works_in_every_terminal(terminal: str, sequence: bytes) -> None:
    sent: list[str] = []
    edited = editor("one", on_submit=sent.append)
    assert feed_bytes(edited, sequence) == [], terminal
    typed(edited, "two")
    assert (edited.text, sent) == ("one\ntwo", []), terminal


@pytest.mark.parametrize("sequence", [b"\r", b"\x1b[13u", b"\x1b[13;1u", b"\x1b[57414u", b"\x1bOM"])
def test_enter_sends_in_every_terminal(sequence: bytes) -> None:
    sent: list[str] = []
    edited = editor("one", on_submit=sent.append)
    feed_bytes(edited, sequence)
    assert sent == ["one"]


@pytest.mark.parametrize(
    "sequence", [b"\x1b\r", b"\x1b[13;3u", b"\x1b[27;3;13~", b"\x1b[13;5u", b"\x1b[27;5;13~"]
)
def test_enter_with_alt_or_ctrl_is_left_to_the_application(sequence: bytes) -> None:
    edited = editor("one", on_submit=lambda text: None)
    assert feed_bytes(edited, sequence) in (["alt+enter"], ["ctrl+enter"])
    assert edited.text == "one"


def test_input_method_text_is_typed_completely() -> None:
    edited = editor()
    feed_bytes(edited, "こんにちは".encode(), "世".encode()[:1], "世".encode()[1:], "e\u0301👩‍👩‍👧".encode())
    assert edited.text == "こんにちは世e\u0301👩‍👩‍👧"
    press(edited, "backspace")
    assert edited.text == "こんにちは世e\u0301"
    press(edited, "backspace", "backspace")
    assert edited.text == "こんにちは"


def test_emoji_and_scripts_without_blanks_have_whole_words() -> None:
    edited = editor("go 👩‍👩‍👧👍🏽 漢字かな end")
    places = []
    while cursor(edited):
        press(edited, "alt+left")
        places.append(edited.text[: cursor(edited)])
    assert places == ["go 👩‍👩‍👧👍🏽 漢字かな ", "go 👩‍👩‍👧👍🏽 漢字", "go 👩‍👩‍👧👍🏽 ", "go ", ""]
    press(edited, "end", "ctrl+w", "ctrl+w", "ctrl+w", "ctrl+w")
    assert edited.text == "go "
    press(edited, "ctrl+y")
    assert edited.text == "go 👩‍👩‍👧👍🏽 漢字かな end"


def test_draft_inserted_while_browsing_the_history_does_not_return_twice() -> None:
    sent: list[str] = []
    edited = editor(history=MemoryHistory(["old"]), on_submit=sent.append)
    typed(edited, "draft")
    press(edited, "up")
    assert edited.text == "old"
    parts = edited.draft()["parts"]
    assert edited.restore({"parts": ["queued\n\n", *parts], "cursor": 0})  # type: ignore[misc]
    assert edited.text == "queued\n\ndraft"
    press(edited, "enter")
    assert (sent, edited.text) == (["queued\n\ndraft"], "")


def test_saved_draft_of_an_edited_history_entry_includes_the_original_draft() -> None:
    edited = editor(history=MemoryHistory(["old"]))
    typed(edited, "draft")
    press(edited, "up")
    assert edited.draft() == {"parts": ["draft"], "cursor": 5}
    typed(edited, "er")
    assert edited.draft() == {"parts": ["older"], "cursor": 5, "below": ["draft"]}
    press(edited, "ctrl+u")
    assert edited.draft() == {"parts": ["draft"], "cursor": 5}
