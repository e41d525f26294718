"""Diffs that people read."""

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.edits.diff import MAX_DIFF_LINES, unified

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
    diff = unified("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), "f")
    assert applied(old, diff.text.split("\n")[2:-1]) == new


def applied(old: list[str], rows: list[str]) -> list[str]:
    """What `patch` would make of the rows of a diff."""
    result: list[str] = []
    position = 0
    for row in rows:
        if row.startswith("@@"):
            first, length = row[4:].partition(" ")[0].split(",")
            start = int(first) - (length != "0")
            result += old[position:start]
            position = start
        elif row.startswith("+"):
            result.append(row[1:])
        else:
            assert old[position] == row[1:]
            result += [old[position]] if row.startswith(" ") else []
            position += 1
    return result + old[position:]


def test_a_huge_change_is_cut_and_says_so() -> None:
    old = "".join(f"old {number}\n" for number in range(50_000))
    new = "".join(f"new {number}\n" for number in range(50_000))
    diff = unified(old, new, "f")
    assert (diff.added, diff.removed) == (50_000, 50_000)
    assert len(diff.text.splitlines()) == MAX_DIFF_LINES + 3
    assert "more diff lines not shown" in diff.text
