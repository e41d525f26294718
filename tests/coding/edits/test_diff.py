"""Diffs that people read."""

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.edits.diff import change_rows, unified
from tau.coding.edits.splices import Splice, spliced
from tests.coding.edits.patching import rebuilt, splices_for

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30)


def test_a_small_change_in_its_context() -> None:
    old = "".join(f"{number}\n" for number in range(1, 21))
    diff = unified(old, old.replace("10\n", "ten\n"), "n.txt")
    assert diff.text == ("--- a/n.txt\n+++ b/n.txt\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n")
    assert (diff.first_changed_line, diff.added, diff.removed) == (10, 1, 1)


def test_a_missing_newline_at_the_end_is_told() -> None:
    assert unified("a\n", "a", "f").text.endswith("-a\n+a\n\\ No newline at end of file\n")


def test_nothing_changed_is_an_empty_diff() -> None:
    assert unified("a\nb", "a\nb", "f").text == ""


@given(LINES, LINES)
def test_applying_the_counts_gives_the_new_length(old: list[str], new: list[str]) -> None:
    diff = unified("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), "f")
    assert len(old) + diff.added - diff.removed == len(new)
    assert (diff.first_changed_line is None) == (old == new)


@given(LINES, LINES)
def test_the_diff_turns_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{line}\n" for line in old), "\n".join(new)
    assert rebuilt(before, unified(before, after, "f").text) == after
    assert rebuilt(after, unified(after, before, "f").text) == before


def test_a_huge_change_is_cut_and_says_so() -> None:
    old = "".join(f"old {number}\n" for number in range(50_000))
    new = "".join(f"new {number}\n" for number in range(50_000))
    diff = unified(old, new, "f")
    assert (diff.added, diff.removed) == (50_000, 50_000)
    assert len(diff.text.splitlines()) == 2 + 400 + 1
    assert diff.text.endswith(" 99601 more diff lines not shown]\n".replace(" ", "[… ", 1))


def test_two_thousand_lines_are_compared_line_by_line_and_no_more() -> None:
    def rows(count: int) -> int:
        """How many rows the diff of two texts has, of which every second line is the same."""
        old = "".join(f"{number}\n" if number % 2 else "old\n" for number in range(count))
        new = "".join(f"{number}\n" if number % 2 else "new\n" for number in range(count))
        diff = unified(old, new, "f")
        return diff.added

    assert rows(1_000) == 500
    assert rows(1_001) == 1_001


def test_a_long_line_is_cut_at_five_hundred_characters() -> None:
    diff = unified("", "x" * 600 + "\n", "f")
    assert diff.text.splitlines()[-1] == "+" + "x" * 499


def test_three_lines_of_context_stand_around_a_change_and_near_changes_are_one_hunk() -> None:
    old = "".join(f"{number}\n" for number in range(1, 31))
    for apart, hunks in ((7, 1), (8, 2)):
        new = old.replace("10\n", "ten\n", 1).replace(f"\n{10 + apart}\n", "\nother\n", 1)
        assert unified(old, new, "f").text.count("\n@@") == hunks


@given(LINES, st.booleans(), st.data())
def test_the_rows_of_changes_turn_the_old_text_into_the_new(
    lines: list[str], ended: bool, data: st.DataObject
) -> None:
    text = "\n".join(lines) + ("\n" if ended and lines else "")
    splices = data.draw(splices_for(len(text)))
    found = change_rows(text, splices) if text else None
    if found is not None:
        assert rebuilt(text, "\n".join(["---", "+++", *found.rows, ""])) == spliced(text, splices)
        assert found.added == sum(row.startswith("+") for row in found.rows)
        assert found.removed == sum(row.startswith("-") for row in found.rows)


def test_changes_far_apart_are_hunks_of_their_own_with_lines_counted_on() -> None:
    text = "".join(f"{number}\n" for number in range(1, 31))
    first, second = text.index("5\n"), text.index("20\n")
    found = change_rows(text, [Splice(first, first + 1, "x\ny"), Splice(second, second + 2, "z")])
    assert [row for row in found.rows if row.startswith("@@")] == ["@@ -2,7 +2,8 @@", "@@ -17,7 +18,7 @@"]
    assert (found.added, found.removed) == (3, 2)
    near = text.index("12\n")
    one = change_rows(text, [Splice(first, first + 1, "x"), Splice(near - 2, near - 1, "z")])
    assert len([row for row in one.rows if row.startswith("@@")]) == 1
