"""Finding and replacing text without touching its surroundings."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.coding.edits.not_found import why_not_found
from tau.coding.edits.replace import CharSpan, drop_overlaps, find, line_at, replacements
from tau.coding.edits.splices import spliced

ENDS = st.sampled_from(["\n", "\r\n"])
WORDS = st.sampled_from(["a", "bb", "", "  c", "d\rd"])


def edited(text: str, old: str, new: str) -> str:
    return spliced(text, replacements(text, drop_overlaps(find(text, old)), new))


def test_newlines_in_search_text_match_those_of_the_file() -> None:
    assert find("a\r\nb\r\n", "a\nb") == [CharSpan(0, 4)]
    assert find("a\nb\n", "a\r\nb") == [CharSpan(0, 3)]
    assert find("a\rb\r", "a\nb") == [CharSpan(0, 3)]
    assert find("a\r\nb\na\nb\n", "a\nb") == [CharSpan(0, 4), CharSpan(5, 8)]
    assert find("a\rb\nc", "a\nb") == []


def test_overlapping_matches_are_all_counted_but_replaced_separately() -> None:
    assert len(find("aaa", "aa")) == 2
    assert edited("aaaa", "aa", "b") == "bb"
    assert edited("aaa", "aa", "b") == "ba"


def test_special_characters_are_plain_text() -> None:
    assert edited("a.*(b)[c]\\1$", ".*(b)[c]\\1$", "\\g<0>") == "a\\g<0>"


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
        ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny"),
        ("a\nb", "b", "x\r\ny", "a\nx\ny"),
        ("a", "a", "x\ny", "x\ny"),
        ("a\rb\r", "b", "x\ny", "a\rx\ry\r"),
        ("one\r\ntwo\nthree\r\n", "one\ntwo\nthree\n", "one\n2\nthree\n", "one\r\n2\nthree\r\n"),
        (
            "one\r\ntwo\nthree\r\n",
            "one\ntwo\nthree\n",
            "one\ntwo\nnew\nthree\n",
            "one\r\ntwo\nnew\nthree\r\n",
        ),
        ("one\r\ntwo\nthree\r\n", "one\ntwo\nthree\n", "three\n", "three\r\n"),
        ("a\rb\r\nc\r\n", "a\rb\nc", "x\ny", "x\r\ny\r\n"),
    ],
)
def test_new_lines_use_the_line_ending_of_their_neighbors(
    text: str, old: str, new: str, expected: str
) -> None:
    assert edited(text, old, new) == expected


@given(st.lists(st.tuples(WORDS, ENDS), min_size=1, max_size=12), st.data())
def test_unchanged_lines_keep_their_line_ending(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    """One line of a block changes; every other byte of the file stays."""
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    changed = data.draw(st.integers(first, last))
    text = "<" + "".join(word + end for word, end in lines)
    block = [word for word, _ in lines[first : last + 1]]
    old = "\n".join([("<" if first == 0 else "") + block[0], *block[1:]])
    new_block = [("<" if first == 0 else "") + block[0], *block[1:]]
    new_block[changed - first] = "CHANGED"
    start = len("<" + "".join(word + end for word, end in lines[:first])) - (first == 0)
    spans = [span for span in find(text, old) if span.start == start] if old else []
    if not spans:
        return
    result = spliced(text, replacements(text, spans, "\n".join(new_block)))
    expected = [(("<" if i == 0 else "") + word, end) for i, (word, end) in enumerate(lines)]
    expected[changed] = ("CHANGED", lines[changed][1])
    assert result == "".join(word + end for word, end in expected)


@given(st.text(alphabet="ab\n\r", max_size=40), st.text(alphabet="ab\n", min_size=1, max_size=4))
def test_every_match_equals_the_search_text(text: str, old: str) -> None:
    for span in find(text, old):
        assert re.sub(r"\r\n|\r(?!\n)", "\n", text[span.start : span.end]) == old


def test_lines_are_counted_like_in_editors() -> None:
    assert [line_at("a\nb\nc", position) for position in (0, 1, 2, 4)] == [1, 1, 2, 3]
    assert line_at("a\rb", 2) == 2
    assert line_at("a\rb\nc", 2) == 1


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        (
            "def f():\n  return 1",
            "Only whitespace differs from lines 1-2, which are:\n1:def f():\n2:    return 1",
        ),
        ("def f():   ", "Only whitespace differs from lines 1-1"),
        ("1:def f():\n2:    return 1", "omit the `N:`"),
        (
            "def f():\n2:    return 1",
            "Where it quotes `2:    return 1`, the file has `    return 1` (line 2).",
        ),
        (
            "def g():\n    return 1",
            "Where it quotes `def g():`, the file has `def f():` (line 1). The nearest lines are:\n"
            "1:def f():\n2:    return 1",
        ),
        (
            "    retrun 1",
            "Where it quotes `    retrun 1`, the file has `    return 1` (line 2). The nearest lines are:\n"
            "2:    return 1",
        ),
        ("something else entirely", "Nothing similar"),
        ("\t\n\t", "only whitespace"),
    ],
)
def test_explanation_of_why_a_text_was_not_found(old: str, hint: str) -> None:
    text = "def f():\n    return 1\n\nprint(f())\n"
    assert not find(text, old)
    assert hint in why_not_found(text, old)


@pytest.mark.parametrize(("text", "old"), [("a – b\n", "a - b"), ("x = “a”\n", 'x = "a"')])
def test_short_quote_with_look_alikes_was_said_to_start_above_the_file(text: str, old: str) -> None:
    assert why_not_found(text, old).startswith(
        "Only look-alike characters or white space differ. The nearest"
    )


def test_explanation_is_bounded() -> None:
    text = "\n".join(["    " + "x" * 5_000] * 500)
    assert len(why_not_found(text, "\n".join(["x" * 5_000] * 400))) < 4_000


def test_twelve_lines_and_two_hundred_characters_of_each_are_quoted() -> None:
    def hint(count: int, size: int) -> str:
        text = "".join(f"    line {number} {'x' * size}\n" for number in range(count))
        return why_not_found(text, text.replace("    ", "").rstrip("\n"))

    assert "12:" in hint(12, 1) and "more lines" not in hint(12, 1)
    assert hint(13, 1).endswith("\n[… 1 more lines]") and "\n13:" not in hint(13, 1)
    shown = hint(1, 300).rpartition("\n1:")[2]
    assert len(shown) == 200


def test_nearest_line_is_looked_for_in_five_thousand_lines() -> None:
    def hint(above: int) -> str:
        return why_not_found("\n" * above + "the quick brown fox\n", "the quick brown box")

    assert "(line 5000)" in hint(4_999)
    assert "Nothing similar" in hint(5_000)


def test_line_that_recurs_counts_fifty_times() -> None:
    """The place that most lines point at is found if it is among the first fifty copies of a line."""

    def hint(copies: int) -> str:
        text = "same line\nother\n" * copies + "same line\nsecond\nthe end\n"
        return why_not_found(text, "same line\nsecond\nanother end\n")

    assert "\n99:same line" in hint(49)
    assert "\n1:same line" in hint(50)
