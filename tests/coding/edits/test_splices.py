"""Splices: what they do not name stays; two sets in a row are one; their diff is a real one."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.edits.diff import MAX_DIFF_LINES
from tau.coding.edits.splice_diff import diff_of
from tau.coding.edits.splices import Splice, composed, spliced

TEXTS = st.text(alphabet="ab\n", max_size=40)


@st.composite
def splices_for(draw: st.DrawFn, length: int) -> list[Splice]:
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return [Splice(start, end, draw(st.text(alphabet="xy\n", max_size=5))) for start, end in pairs]


@given(TEXTS, st.data())
def test_two_sets_in_a_row_are_one(text: str, data: st.DataObject) -> None:
    first = data.draw(splices_for(len(text)))
    middle = spliced(text, first)
    second = data.draw(splices_for(len(middle)))
    one = composed(first, second, len(text))
    assert spliced(text, one) == spliced(middle, second)
    assert all(left.end <= right.start for left, right in pairwise(one))


def test_what_neither_set_names_is_not_named_by_both() -> None:
    first, second = [Splice(0, 1, "xx")], [Splice(9, 10, "yy")]
    assert composed(first, second, 20) == [Splice(0, 1, "xx"), Splice(8, 9, "yy")]


@given(st.lists(st.sampled_from(["a", "b", "", "c c"]), max_size=40), st.booleans(), st.data())
def test_the_diff_of_splices_turns_the_old_text_into_the_new(
    lines: list[str], ended: bool, data: st.DataObject
) -> None:
    text = "\n".join(lines) + ("\n" if ended and lines else "")
    splices = data.draw(splices_for(len(text)))
    new = spliced(text, splices)
    diff = diff_of(text, splices, "a/f", "b/f")
    assert rebuilt(text, diff.text) == new
    assert (diff.first_changed_line is None) == (text == new)
    if diff.first_changed_line is not None:
        at = diff.first_changed_line - 1
        assert text.split("\n")[:at] == new.split("\n")[:at]
    assert diff.text.count("\n+") - diff.text.count("\n+++") == diff.added


def rebuilt(old: str, diff: str) -> str:
    """What the rows of a unified diff make of the text, by their own line numbers."""
    source = lines_of(old)
    result: list[str] = []
    at = 0
    rows = diff.split("\n")[2:-1] if diff else []
    index = 0
    while index < len(rows):
        row = rows[index]
        unended = index + 1 < len(rows) and rows[index + 1].startswith("\\")
        text = row[1:] + ("" if unended else "\n")
        if row.startswith("@@"):
            start, count = map(int, row.split()[1][1:].split(","))
            start -= count > 0
            result += source[at:start]
            at = start
            new_start, new_count = map(int, row.split()[2][1:].split(","))
            assert len(result) == new_start - (new_count > 0)
        elif row.startswith("+"):
            result.append(text)
        else:
            assert source[at] == text
            result += [text] if row.startswith(" ") else []
            at += 1
        index += 2 if unended else 1
    return "".join([*result, *source[at:]])


def lines_of(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def test_the_diff_of_many_splices_is_bounded_and_counts_them_all() -> None:
    text = "".join(f"line {number}\n" for number in range(50_000))
    splices = [Splice(at, at + 4, "LINE") for at in range(0, len(text), 1) if text.startswith("line ", at)][
        ::10
    ]
    diff = diff_of(text, splices, "a/f", "b/f")
    assert (diff.added, diff.removed) == (5_000, 5_000)
    assert diff.text.count("\n") < MAX_DIFF_LINES + 5


def test_lines_that_end_as_on_old_macs_are_lines_in_the_diff_too() -> None:
    assert diff_of("a\rb\rc\r", [Splice(2, 3, "x")], "a/f", "b/f").text == (
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
    )
