"""The word before the cursor, and how a path is inserted into the text."""

import pytest

from tau.modes.interactive.composer.completion import (
    CursorWord,
    find_mention,
    format_mention,
    last_word,
    quote_path,
)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("@", CursorWord(0, "")),
        ("look at @src/ma", CursorWord(8, "src/ma")),
        ("(@a", CursorWord(1, "a")),
        ("`@a", CursorWord(1, "a")),
        ('read @"my fi', CursorWord(5, "my fi", '"')),
        ('read @"my file" and @b', CursorWord(20, "b")),
        ("\ufffc@a", CursorWord(1, "a")),
    ],
)
def test_mention_starts_with_an_at_sign(line: str, word: CursorWord) -> None:
    assert find_mention(line) == word


@pytest.mark.parametrize("line", ["", "me@example.org", "@done and more", "@a\ufffcb", "@" + "x" * 600])
def test_email_or_finished_word_is_not_a_mention(line: str) -> None:
    assert find_mention(line) is None


@pytest.mark.parametrize(
    ("path", "behind", "text"),
    [
        ("a.py", "", "@a.py "),
        ("a.py", " and", "@a.py"),
        ("src/", "", "@src/"),
        ("my notes.txt", "", '@"my notes.txt" '),
        ("my dir/", "", '@"my dir/'),
    ],
)
def test_mention_with_spaces_is_quoted(path: str, behind: str, text: str) -> None:
    assert format_mention(path, behind=behind) == text


@pytest.mark.parametrize(
    ("line", "shell", "word"),
    [
        ("see ./src/ma", False, CursorWord(4, "./src/ma")),
        ('see "./my di', False, CursorWord(4, "./my di", '"')),
        (r"ls my\ di", True, CursorWord(3, "my di")),
        ("cat 'my di", True, CursorWord(4, "my di", "'")),
        ("x --file=./a", True, CursorWord(9, "./a")),
        ("cat <in >ou", True, CursorWord(9, "ou")),
        ("don't ./a", False, CursorWord(6, "./a")),
        ("ends ", True, CursorWord(5, "")),
    ],
)
def test_last_word_is_parsed_like_in_a_shell(line: str, shell: bool, word: CursorWord) -> None:
    assert last_word(line, shell=shell) == word


@pytest.mark.parametrize(
    ("path", "quote", "shell", "text"),
    [
        ("my dir/a&b.txt", "", True, r"my\ dir/a\&b.txt"),
        ("my dir/a.txt", "'", True, "'my dir/a.txt'"),
        ("~/my dir/", "", True, r"~/my\ dir/"),
        ("./my file", "", False, '"./my file"'),
        ("./my dir/", "", False, '"./my dir/'),
        ("./plain", "", False, "./plain"),
    ],
)
def test_path_is_escaped_to_stay_one_word(path: str, quote: str, shell: bool, text: str) -> None:
    assert quote_path(path, quote, shell=shell) == text
