"""Tags: four digits, blind to trailing whitespace, and cheap."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.hashline import snapshots
from tau.hashline.snapshots import checksum, checksums, tag_of, trim_lines

BLANKS = st.text(" \t", max_size=3)


@given(st.text())
def test_tag_is_four_uppercase_hex_digits(text: str) -> None:
    assert re.fullmatch("[0-9A-F]{4}", tag_of(text))


def test_lone_surrogates_have_a_tag_too() -> None:
    assert tag_of("\ud800") != tag_of("\udfff")


@given(st.lists(st.tuples(st.text("ab \t", max_size=4), BLANKS, st.sampled_from(["\n", "\r\n"]))))
def test_trailing_blanks_and_carriage_returns_do_not_count(lines: list[tuple[str, str, str]]) -> None:
    untidy = "".join(row + blanks + end for row, blanks, end in lines)
    tidy = "".join(row.rstrip(" \t") + "\n" for row, _, _ in lines)
    assert trim_lines(untidy) == tidy
    assert tag_of(untidy) == tag_of(tidy)


@given(st.text("ab \t\r\n"))
def test_trimming_works_line_by_line(text: str) -> None:
    if "\n" in text or "\r" not in text:
        assert trim_lines(text) == "\n".join(line.rstrip(" \t\r") for line in text.split("\n"))
    else:
        assert trim_lines(text) == "\r".join(line.rstrip(" \t") for line in text.split("\r"))


@given(st.text("ab \t\r\n\u00e9\ud800", max_size=60), st.integers(1, 5))
def test_checksums_of_blocks_are_those_of_the_whole_text(text: str, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "BLOCK_CHARS", block)
        found = checksums(text)
    assert found.trimmed == checksum(trim_lines(text)) and found.exact == checksum(text)


@pytest.mark.parametrize("other", ["a\nb", "a\nb\n\n", " a\nb\n", "b\na\n", "a\n b\n"])
def test_everything_else_counts(other: str) -> None:
    assert tag_of("a\nb\n") != tag_of(other)


def test_million_blanks_are_trimmed_quickly() -> None:
    assert (
        trim_lines("x" + " \t" * 500_000 + "\n" + " " * 1_000_000 + "y \n") == "x\n" + " " * 1_000_000 + "y\n"
    )
