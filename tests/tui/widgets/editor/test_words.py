"""Words of all scripts: where word moves and deletions stop."""

import pytest

from tests.tui.widgets.editor.editor_rig import cursor, editor, paste, press


def stops(text: str, key: str) -> list[int]:
    edited = editor(text)
    if key == "alt+f":
        press(edited, "ctrl+home")
    found = []
    for _ in range(len(text) + 1):
        press(edited, key)
        found.append(cursor(edited))
        if cursor(edited) in (0, len(text)):
            return found
    raise AssertionError("the cursor never came to the end")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one two", ["one", " two"]),
        ("  don't stop", ["  don't", " stop"]),
        ("snake_case = 'it'", ["snake_case", " =", " '", "it", "'"]),
        ("path/to/file.py", ["path", "/", "to", "/", "file", ".", "py"]),
        ("naïve Straße", ["naïve", " Straße"]),
        ("日本語のテキストです", ["日本語", "の", "テキスト", "です"]),
        ("한국어 단어", ["한국어", " 단어"]),
        ("hi 🙂🙂 there", ["hi", " 🙂🙂", " there"]),
        ("one\n\n  two", ["one", "\n\n  two"]),
    ],
)
def test_words_end_where_readers_expect(text: str, words: list[str]) -> None:
    ends = [len("".join(words[: count + 1])) for count in range(len(words))]
    assert stops(text, "alt+f") == ends


def test_words_start_where_readers_expect() -> None:
    assert stops("path/to the_end ", "alt+b") == [8, 5, 4, 0]
    assert stops("日本語のテキスト", "alt+b") == [4, 3, 0]
    assert stops("one\n\n two", "alt+b") == [6, 0]


def test_deleting_a_word_stays_on_its_line() -> None:
    edited = editor("one\n  two")
    press(edited, "ctrl+w")
    assert edited.text == "one\n  "
    press(edited, "ctrl+w")
    assert edited.text == "one\n"
    press(edited, "ctrl+w")
    assert edited.text == "one"
    press(edited, "ctrl+home", "alt+d")
    assert edited.is_empty


def test_deleting_a_word_forward_at_the_end_of_a_line_takes_only_the_newline() -> None:
    edited = editor("one\ntwo")
    press(edited, "ctrl+home", "end", "alt+d")
    assert edited.text == "onetwo"


def test_folded_paste_is_one_word() -> None:
    edited = editor("see")
    paste(edited, "x" * 2_000)
    paste(edited, "y" * 2_000)
    press(edited, "alt+b")
    assert cursor(edited) == 4
    press(edited, "alt+b", "alt+b")
    assert cursor(edited) == 0
