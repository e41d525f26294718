"""Cursor movement: by rows with the preferred column, by paragraph, by page, to a character."""

from tau.tui.input.key import Key
from tests.tui.widgets.editor.editor_rig import cursor, editor, press, text_rows, typed


def at(text: str, *keys: str, width: int = 40, start: str = "ctrl+home") -> str:
    """The text with `|` at the cursor after the keys."""
    edited = editor(text)
    edited.render(width)
    press(edited, start, *keys)
    offset = cursor(edited)
    return f"{edited.text[:offset]}|{edited.text[offset:]}"


def test_up_and_down_keep_the_preferred_column_across_short_lines() -> None:
    assert at("long line\nab\nlong line", "end", "down") == "long line\nab|\nlong line"
    assert at("long line\nab\nlong line", "end", "down", "down") == "long line\nab\nlong line|"
    assert at("long line\nab\nlong line", "end", "down", "left", "down") == "long line\nab\nl|ong line"


def test_up_and_down_move_by_wrapped_rows_and_cells() -> None:
    assert at("aaaa bbbb cccc", "right", "right", "down", width=6) == "aaaa bb|bb cccc"
    assert at("aaaa bbbb cccc", "right", "right", "down", "down", width=6) == "aaaa bbbb cc|cc"
    assert at("日本語\nabcdef", "right", "down") == "日本語\nab|cdef"
    assert at("abcdef\n日本語", "right", "down") == "abcdef\n|日本語"


def test_lines_and_text_have_a_start_and_an_end() -> None:
    assert at("ab\ncd", "down", "end") == "ab\ncd|"
    assert at("ab\ncd", "down", "end", "home") == "ab\n|cd"
    assert at("ab\ncd", "ctrl+end") == "ab\ncd|"
    assert at("ab\ncd", "ctrl+home", start="end") == "|ab\ncd"


def test_paragraphs_are_separated_by_blank_lines() -> None:
    text = "a\nb\n\n \nc\nd"
    assert at(text, "ctrl+down") == "a\nb\n|\n \nc\nd"
    assert at(text, "ctrl+down", "ctrl+down") == f"{text}|"
    assert at(text, "ctrl+up", start="ctrl+end") == "a\nb\n\n| \nc\nd"
    assert at(text, "ctrl+up", "ctrl+up", start="ctrl+end") == f"|{text}"


def test_page_is_the_visible_height_minus_one_row() -> None:
    edited = editor("\n".join(map(str, range(30))), max_rows=5)
    assert text_rows(edited)[-1] == "29|"
    press(edited, "pageUp")
    assert text_rows(edited)[0] == "25|"
    press(edited, "pageUp", "pageUp")
    assert text_rows(edited) == ["17|", "18", "19", "20", "21"]
    press(edited, "pageDown")
    assert text_rows(edited)[-1] == "21|"
    press(edited, *["pageUp"] * 9)
    assert text_rows(edited)[0] == "0|"


def test_jump_goes_to_the_next_matching_character_in_both_directions() -> None:
    edited = editor("one.two\nthree.four")
    press(edited, "ctrl+home", "ctrl+]")
    typed(edited, ".")
    assert cursor(edited) == 3
    press(edited, "ctrl+]")
    typed(edited, ".")
    assert cursor(edited) == 13
    press(edited, "ctrl+alt+]")
    typed(edited, "t")
    assert cursor(edited) == 8
    press(edited, "ctrl+]")
    typed(edited, "ü")
    assert cursor(edited) == 8
    assert edited.text == "one.two\nthree.four"


def test_jump_is_cancelled_by_a_non_typing_key() -> None:
    edited = editor("abc")
    press(edited, "ctrl+home", "ctrl+]", "right")
    typed(edited, "x")
    assert edited.text == "axbc"


def test_jump_lands_on_whole_characters_only() -> None:
    edited = editor("xe\u0301 e")
    press(edited, "ctrl+home", "ctrl+]")
    edited.handle_input(Key("\u0301", "\u0301"))
    assert cursor(edited) == 0


def test_keys_are_handled_only_where_they_have_an_effect() -> None:
    empty = editor()
    assert press(empty, "ctrl+d", "left", "backspace", "up", "escape", "ctrl+c", "f5") == [False] * 7
    full = editor("a")
    assert press(full, "ctrl+d", "left", "up") == [True] * 3
    assert press(full, "escape", "ctrl+c") == [False] * 2
    assert not full.handle_input(Key("a", "a", "release"))
    assert full.text == "a"
