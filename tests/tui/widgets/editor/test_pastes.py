"""Large pastes: folded to one unit, sent in full, never confused with similar text."""

import json
import random

from tau.tui.widgets.editor.pastes import COLLECT_ABOVE, FIRST, LAST, Pastes
from tests.tui.widgets.editor.editor_rig import cursor, editor, paste, press, text_rows, typed

LINES_42 = "\n".join(f"line {number}" for number in range(42))


def test_paste_of_more_than_ten_lines_or_a_thousand_characters_is_folded() -> None:
    edited = editor()
    paste(edited, "\n".join("0123456789"))
    assert len(text_rows(edited)) == 10
    edited.clear()
    paste(edited, "\n".join("0123456789a"))
    assert text_rows(edited) == ["[Pasted text #1 +11 lines]|"]
    paste(edited, "x" * 1_000)
    assert "x" * 30 in "".join(text_rows(edited))
    edited.clear()
    paste(edited, "x" * 1_001)
    assert text_rows(edited) == ["[Pasted text #2 1,001 characters]|"]
    edited.clear()
    paste(edited, "x" * 1_000_000 + "\n")
    assert text_rows(edited, 60) == ["[Pasted text #3 1,000,001 characters]|"]


def test_folded_paste_is_sent_exactly() -> None:
    sent: list[str] = []
    edited = editor(on_submit=sent.append)
    typed(edited, "see ")
    paste(edited, LINES_42)
    typed(edited, "!")
    assert text_rows(edited) == ["see [Pasted text #1 +42 lines]!|"]
    assert edited.text == f"see {LINES_42}!"
    press(edited, "enter")
    assert sent == [f"see {LINES_42}!"]


def test_folded_paste_is_one_step_and_one_deletion() -> None:
    edited = editor("a")
    paste(edited, LINES_42)
    typed(edited, "b")
    press(edited, "left", "left")
    assert text_rows(edited) == ["a|[Pasted text #1 +42 lines]b"]
    press(edited, "right", "backspace")
    assert edited.text == "ab"
    press(edited, "ctrl+-")
    assert edited.text == f"a{LINES_42}b"
    press(edited, "alt+-")
    assert edited.text == "ab"


def test_folded_paste_survives_kill_and_yank_even_into_the_next_text() -> None:
    edited = editor(on_submit=lambda text: None)
    paste(edited, LINES_42)
    press(edited, "ctrl+u", "ctrl+y", "ctrl+y")
    assert edited.text == LINES_42 * 2
    press(edited, "enter", "ctrl+y")
    assert edited.text == LINES_42
    assert text_rows(edited) == ["[Pasted text #1 +42 lines]|"]


def test_text_that_looks_like_a_marker_is_text() -> None:
    edited = editor()
    paste(edited, LINES_42)
    typed(edited, "[Pasted text #1 +42 lines]")
    paste(edited, chr(FIRST) + "[Pasted text #1 +42 lines]")
    look = "[Pasted text #1 +42 lines]"
    assert edited.text == f"{LINES_42}{look}\ufffd{look}"
    press(edited, "backspace")
    assert edited.text.endswith("42 lines")


def test_paste_is_expanded_on_demand_and_folded_again() -> None:
    edited = editor("see ")
    paste(edited, LINES_42)
    press(edited, "alt+e")
    assert text_rows(edited)[:2] == ["see |line 0", "line 1"]
    assert edited.text == f"see {LINES_42}"
    press(edited, "down", "alt+e")
    assert text_rows(edited) == ["see [Pasted text #1 +42 lines]|"]
    press(edited, "ctrl+-")
    assert len(text_rows(edited)) == 12
    press(edited, "ctrl+-")
    assert text_rows(edited) == ["see [Pasted text #1 +42 lines]|"]


def test_edited_expanded_paste_is_not_folded() -> None:
    edited = editor()
    paste(edited, LINES_42)
    press(edited, "alt+e", "down")
    typed(edited, "x")
    changed = edited.text
    press(edited, "alt+e")
    assert edited.text == changed != LINES_42
    assert len(text_rows(edited)) == 12
    press(edited, "backspace", "alt+e")
    assert text_rows(edited) == ["[Pasted text #1 +42 lines]|"]


def test_only_the_copy_around_the_cursor_is_folded() -> None:
    edited = editor()
    paste(edited, LINES_42)
    press(edited, "alt+e", "ctrl+end")
    edited.insert(f"\n\n{LINES_42}")
    press(edited, "alt+e")
    assert edited.draft()["parts"] == [
        f"{LINES_42}\n\n",
        {"paste": 1, "label": "[Pasted text #1 +42 lines]", "text": LINES_42},
    ]


def test_raw_paste_is_not_folded() -> None:
    edited = editor()
    edited.paste(LINES_42, fold=False)
    assert edited.text == LINES_42
    assert text_rows(edited)[-1] == "line 41|"


def test_application_marker_has_its_own_label() -> None:
    edited = editor()
    edited.insert_marker("[Image\x1b[2J #1]", "/tmp/a.png")
    assert text_rows(edited) == ["[Image #1]|"]
    assert edited.text == "/tmp/a.png"


def test_numbers_restart_when_no_pastes_are_left() -> None:
    edited = editor(on_submit=lambda text: None)
    paste(edited, LINES_42)
    paste(edited, LINES_42)
    press(edited, "enter")
    paste(edited, LINES_42)
    assert text_rows(edited) == ["[Pasted text #1 +42 lines]|"]


def test_unreferenced_pastes_are_dropped() -> None:
    live: list[str] = []
    pastes = Pastes(lambda: live)
    kept = pastes.add("kept")
    live.append(f"x{kept}")
    for number in range(3 * COLLECT_ABOVE):
        pastes.add(str(number))
    assert len(pastes) <= COLLECT_ABOVE + 1
    assert pastes.expand(f"x{kept}") == "xkept"


def test_paste_is_inserted_unfolded_when_all_markers_are_taken() -> None:
    live: list[str] = ["".join(map(chr, range(FIRST, LAST + 1)))]
    pastes = Pastes(lambda: live)
    for _ in range(LAST - FIRST + 1):
        assert pastes.add("text")
    assert pastes.add("text") == ""


def test_draft_is_plain_data_and_restores_pastes_and_cursor() -> None:
    edited = editor("look: ")
    paste(edited, LINES_42)
    typed(edited, " 日本 and more")
    press(edited, "alt+b", "alt+b")
    data = json.loads(json.dumps(edited.draft()))
    other = editor()
    assert other.restore(data)
    assert (other.text, cursor(other)) == (edited.text, cursor(edited))
    assert text_rows(other) == text_rows(edited)
    press(other, "ctrl+home", *["right"] * 6, "delete")
    assert other.text == "look:  日本 and more"


def test_invalid_draft_changes_nothing() -> None:
    edited = editor("here")
    bad: list[dict[str, object]] = [{}, {"parts": "x"}, {"parts": [1]}, {"parts": [{"paste": "1"}]}]
    assert not any(edited.restore(data) for data in bad)
    assert edited.text == "here"
    assert edited.restore({"parts": ["a\x1b[2Jb"], "cursor": 10**9})
    assert (edited.text, cursor(edited)) == ("ab", 2)


def test_random_pastes_moved_around_are_sent_exactly() -> None:
    random_numbers = random.Random(7)
    edited = editor()
    expected: list[str] = []
    for number in range(40):
        text = f"{number}\n" * random_numbers.randint(11, 30)
        place = random_numbers.randint(0, len(expected))
        press(edited, "ctrl+home", *["right"] * place)
        paste(edited, text)
        expected.insert(place, text)
    assert edited.text == "".join(expected)
