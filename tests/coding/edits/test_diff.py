"""Diffs that people read."""

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.edits.diff import unified
from tau.coding.edits.splices import Splice, diff_of
from tests.coding.edits.patching import rebuilt

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30)


def test_small_change_with_context() -> None:
    old = "".join(f"{number}\n" for number in range(1, 21))
    diff = unified(old, old.replace("10\n", "ten\n"), "n.txt")
    assert diff.text == ("--- a/n.txt\n+++ b/n.txt\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n")
    assert (diff.first_changed_line, diff.added, diff.removed) == (10, 1, 1)


def test_missing_final_newline_is_noted() -> None:
    assert unified("a\n", "a", "f").text.endswith("-a\n+a\n\\ No newline at end of file\n")


def test_unchanged_text_gives_an_empty_diff() -> None:
    assert unified("a\nb", "a\nb", "f").text == ""


@given(LINES, LINES)
def test_counts_add_up_to_the_new_length(old: list[str], new: list[str]) -> None:
    diff = unified("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), "f")
    assert len(old) + diff.added - diff.removed == len(new)
    assert (diff.first_changed_line is None) == (old == new)


@given(LINES, LINES)
def test_diff_turns_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{line}\n" for line in old), "\n".join(new)
    assert rebuilt(before, unified(before, after, "f").text) == after
    assert rebuilt(after, unified(after, before, "f").text) == before


def test_huge_diff_is_truncated_with_a_note() -> None:
    old = "".join(f"old {number}\n" for number in range(50_000))
    new = "".join(f"new {number}\n" for number in range(50_000))
    diff = unified(old, new, "f")
    assert (diff.added, diff.removed) == (50_000, 50_000)
    assert len(diff.text.splitlines()) == 2 + 400 + 1
    assert diff.text.endswith(" 99601 more diff lines not shown]\n".replace(" ", "[… ", 1))


def test_line_by_line_comparison_is_limited_to_two_thousand_lines() -> None:
    def rows(count: int) -> int:
        """The number of diff rows for two texts that share every second line."""
        old = "".join(f"{number}\n" if number % 2 else "old\n" for number in range(count))
        new = "".join(f"{number}\n" if number % 2 else "new\n" for number in range(count))
        diff = unified(old, new, "f")
        return diff.added

    assert rows(1_000) == 500
    assert rows(1_001) == 1_001


def test_long_line_is_cut_at_five_hundred_characters() -> None:
    diff = unified("", "x" * 600 + "\n", "f")
    assert diff.text.splitlines()[-1] == "+" + "x" * 499


def test_three_context_lines_surround_a_change_and_near_changes_share_a_hunk() -> None:
    old = "".join(f"{number}\n" for number in range(1, 31))
    for apart, hunks in ((7, 1), (8, 2)):
        new = old.replace("10\n", "ten\n", 1).replace(f"\n{10 + apart}\n", "\nother\n", 1)
        assert unified(old, new, "f").text.count("\n@@") == hunks


def test_distant_changes_are_separate_hunks_with_shifted_line_numbers() -> None:
    text = "".join(f"{number}\n" for number in range(1, 31))
    first, second = text.index("5\n"), text.index("20\n")
    found = diff_of(text, [Splice(first, first + 1, "x\ny"), Splice(second, second + 2, "z")], "f", "f")
    assert [row for row in found.text.splitlines() if row.startswith("@@")] == [
        "@@ -2,7 +2,8 @@",
        "@@ -17,7 +18,7 @@",
    ]
    assert (found.added, found.removed) == (3, 2)
    near = text.index("12\n")
    one = diff_of(text, [Splice(first, first + 1, "x"), Splice(near - 2, near - 1, "z")], "f", "f")
    assert len([row for row in one.text.splitlines() if row.startswith("@@")]) == 1
