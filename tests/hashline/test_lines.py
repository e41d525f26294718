"""Lines found by offset, against simple splitting: every short text, and long ones in chunks."""

from collections.abc import Iterable
from itertools import accumulate, product

import pytest

from tau.hashline.lines import NumberedLines, separator_of, split_lines


def model(text: str) -> list[tuple[str, str]]:
    """Rows and their ends, one character at a time."""
    separator = separator_of(text)
    found: list[tuple[str, str]] = []
    row = ""
    for character in text:
        if character != separator:
            row += character
        elif separator == "\n" and row.endswith("\r"):
            found.append((row[:-1], "\r\n"))
            row = ""
        else:
            found.append((row, separator))
            row = ""
    return [*found, (row, "")] if row else found


SHORT = ["".join(letters) for size in range(6) for letters in product("a\r\n", repeat=size)]
LONG = [
    "x" * 16_383 + "\n" + "y" * 16_384 + "\nz",
    "x" * 16_384 + "\n" + "y\n" * 20_000,
    "ab\r\n" * 9_000,
    "\n" * 40_000 + "end",
    "a\r" * 20_000,
    "x" * 50_000,
]


def check(text: str, numbers: Iterable[int]) -> None:
    expected = model(text)
    starts = [0, *accumulate(len(row) + len(end) for row, end in expected)]
    lines = NumberedLines(text)
    for number in numbers:
        exists = 1 <= number <= len(expected)
        assert lines.has(number) == exists
        if exists:
            row, end = expected[number - 1]
            assert (lines.row(number), lines.end_of(number)) == (row, end)
            assert lines.is_open(number) == (end == "")
            assert lines.start(number) == starts[number - 1]
    assert lines.start(len(expected) + 1) == len(text)
    assert NumberedLines(text).count == lines.count == len(expected)
    assert lines.ends_open == bool(expected and not expected[-1][1])
    assert split_lines(text) == [row for row, _ in expected]


def test_lines_of_every_short_text_match_splitting() -> None:
    for text in SHORT:
        check(text, range(-1, 8))
        rows = split_lines(text)
        lines = NumberedLines(text)
        for first, last in product(range(-1, 7), repeat=2):
            assert lines.rows(first, last) == rows[max(first, 1) - 1 : max(last, 0)]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_counted_in_chunks(text: str) -> None:
    rows = split_lines(text)
    for number in (0, 1, 2, 8_192, 16_384, 16_385, *range(len(rows) - 1, len(rows) + 2)):
        check(text, [number, 1])
    assert NumberedLines(text).rows(2, len(rows)) == rows[1:]


@pytest.mark.parametrize(
    ("text", "number", "end"),
    [
        ("a\r\nb\nc", 1, "\r\n"),
        ("a\r\nb\nc", 2, "\n"),
        ("a\r\nb\r\nc", 3, "\r\n"),
        ("a\r\nb\nc", 3, "\n"),
        ("a\nb\r\n", 4, "\n"),
        ("a\rb", 2, "\r"),
        ("a", 1, "\n"),
        ("", 1, "\n"),
        ("a\r\n", 0, "\n"),
    ],
)
def test_new_line_gets_the_ending_of_its_neighbor(text: str, number: int, end: str) -> None:
    assert NumberedLines(text).end_near(number) == end
