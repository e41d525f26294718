"""Browsing sent messages without losing the draft."""

from tau.tui.input.key import Key
from tests.support.memory_history import MemoryHistory
from tests.tui.widgets.editor.editor_rig import cursor, editor, paste, press, text_rows, typed

LARGE = "z" * 1_500


def test_up_in_the_first_row_shows_older_texts_and_down_in_the_last_newer_ones() -> None:
    edited = editor(history=MemoryHistory(["one", "two"]))
    press(edited, "up")
    assert edited.text == "two"
    press(edited, "up", "up")
    assert edited.text == "one"
    press(edited, "down")
    assert edited.text == "two"
    press(edited, "down")
    assert edited.is_empty


def test_up_inside_a_text_moves_by_rows_first() -> None:
    edited = editor("first\nsecond", history=MemoryHistory(["old"]))
    press(edited, "up")
    assert edited.text == "first\nsecond"
    press(edited, "up")
    assert edited.text == "old"


def test_draft_returns_with_its_cursor_its_pastes_and_its_undo() -> None:
    edited = editor(history=MemoryHistory(["old"]))
    typed(edited, "draft ")
    paste(edited, LARGE)
    press(edited, "left")
    press(edited, "up")
    assert edited.text == "old"
    press(edited, "down")
    assert (edited.text, cursor(edited)) == (f"draft {LARGE}", 6)
    press(edited, "ctrl+-")
    assert edited.text == "draft "


def test_multiline_entry_is_passed_with_single_steps() -> None:
    edited = editor(history=MemoryHistory(["oldest", "a long text " * 10 + "\nb"]))
    edited.render(20)
    press(edited, "up", "up")
    assert edited.text == "oldest"
    press(edited, "down")
    assert edited.text.endswith("b")
    press(edited, "down")
    assert edited.is_empty


def test_edited_entry_stays_edited_while_browsing() -> None:
    edited = editor(history=MemoryHistory(["one", "two"]))
    press(edited, "up")
    typed(edited, "!")
    press(edited, "up", "down")
    assert edited.text == "two!"
    press(edited, "down")
    assert edited.is_empty
    press(edited, "up")
    assert edited.text == "two!"


def test_draft_returns_after_an_entry_was_sent() -> None:
    sent: list[str] = []
    edited = editor("unfinished", history=MemoryHistory(["again"]), on_submit=sent.append)
    press(edited, "up", "enter")
    assert sent == ["again"]
    assert edited.text == "unfinished"


def test_refused_entry_stays_and_the_draft_is_still_below_it() -> None:
    edited = editor("unfinished", history=MemoryHistory(["again"]), on_submit=lambda text: False)
    press(edited, "up", "enter")
    assert edited.text == "again"
    press(edited, "down")
    assert edited.text == "unfinished"


def test_held_key_does_not_leave_the_text_for_the_history() -> None:
    edited = editor("text", history=MemoryHistory(["old"]))
    edited.handle_input(Key("up", kind="repeat"))
    assert edited.text == "text"
    edited.handle_input(Key("up"))
    edited.handle_input(Key("up", kind="repeat"))
    assert edited.text == "old"


def test_crash_recovery_saves_the_draft_not_a_viewed_entry() -> None:
    edited = editor("draft", history=MemoryHistory(["old"]))
    press(edited, "up")
    assert edited.draft()["parts"] == ["draft"]
    typed(edited, "!")
    assert edited.draft()["parts"] == ["old!"]


def test_entries_are_cleaned_like_all_foreign_text() -> None:
    edited = editor(history=MemoryHistory(["\x1b[2Jold\ttext"]))
    press(edited, "up")
    assert edited.text == "old\ttext"
    assert text_rows(edited) == ["old text|"]


def test_search_is_left_to_the_application() -> None:
    asked: list[str] = []
    assert press(editor("que", on_history_search=asked.append), "ctrl+r") == [True]
    assert asked == ["que"]
    assert press(editor("que"), "ctrl+r", "enter") == [False, False]


def test_history_in_memory_is_bounded_without_blanks_or_repetitions() -> None:
    history = MemoryHistory(["a", "a", " ", "b"], limit=3)
    assert len(history) == 2
    for text in "cde":
        history.add(text)
    assert [entry.text for entry in history.search("", 10)] == ["e", "d", "c"]
    first = history.older(None)
    assert first is not None
    second = history.older(first.key)
    assert second is not None and second.text == "d"
    assert history.newer(second.key) == first
    assert history.newer(first.key) is None
    history.add("f")
    history.add("g")
    assert history.older(second.key) is None


def test_search_matches_all_words_in_any_order_latest_first() -> None:
    history = MemoryHistory(["fix the Parser", "parser tests", "docs"])
    assert [entry.text for entry in history.search("PARSER")] == ["parser tests", "fix the Parser"]
    assert [entry.text for entry in history.search("parser fix")] == ["fix the Parser"]
    assert len(history.search("", limit=2)) == 2
