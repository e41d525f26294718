"""Which word stands before the cursor, and how a path is written into the text."""

import pytest

from tau.modes.interactive.composer.word_at_cursor import CursorWord, last_word, mention, mentioned, written


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
def test_a_mention_begins_with_an_at_sign(line: str, word: CursorWord) -> None:
    assert mention(line) == word


@pytest.mark.parametrize("line", ["", "me@example.org", "@done and more", "@a\ufffcb", "@" + "x" * 600])
def test_an_address_or_a_finished_word_is_no_mention(line: str) -> None:
    assert mention(line) is None


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
def test_a_mention_is_quoted_where_it_has_blanks(path: str, behind: str, text: str) -> None:
    assert mentioned(path, behind=behind) == text


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
def test_the_last_word_is_read_as_a_shell_reads_it(line: str, shell: bool, word: CursorWord) -> None:
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
def test_a_path_is_written_so_that_it_stays_one_word(path: str, quote: str, shell: bool, text: str) -> None:
    assert written(path, quote, shell=shell) == text
