"""Splices: unnamed text stays; two consecutive sets compose; their diff is a real one."""

from itertools import count, pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.edits.diff import unified
from tau.coding.edits.splices import Splice, composed, diff_of, spliced
from tests.coding.edits.patching import rebuilt, splices_for

TEXTS = st.text(alphabet="ab\n", max_size=40)


@given(TEXTS, st.data())
def test_two_consecutive_sets_compose_into_one(text: str, data: st.DataObject) -> None:
    first = data.draw(splices_for(len(text)))
    middle = spliced(text, first)
    second = data.draw(splices_for(len(middle)))
    one = composed(first, second, len(text))
    assert spliced(text, one) == spliced(middle, second)
    assert all(left.end <= right.start for left, right in pairwise(one))


def test_composed_splices_stay_separate() -> None:
    first, second = [Splice(0, 1, "xx")], [Splice(9, 10, "yy")]
    assert composed(first, second, 20) == [Splice(0, 1, "xx"), Splice(8, 9, "yy")]


@given(st.lists(st.sampled_from(["a", "b", "", "c c"]), max_size=40), st.booleans(), st.data())
def test_diff_of_splices_turns_the_old_text_into_the_new(
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


def test_diff_of_many_splices_is_bounded_and_counts_all() -> None:
    text = "".join(f"line {number}\n" for number in range(50_000))
    splices = [Splice(at, at + 4, "LINE") for at in range(0, len(text), 1) if text.startswith("line ", at)][
        ::10
    ]
    diff = diff_of(text, splices, "a/f", "b/f")
    assert (diff.added, diff.removed) == (5_000, 5_000)
    assert diff.text.count("\n") == 2 + 400 + 1


def test_truncated_diff_still_counts_every_line() -> None:
    text = "".join(f"line {number}\n" for number in range(2_000)) + "end"
    starts = [at for at in range(len(text)) if text.startswith("line ", at)][::10]
    ends = [text.index("\n", at) + 1 for at in starts]
    deleted = [Splice(start, end, "") for start, end in zip(starts, ends, strict=True)]
    inserted = [Splice(start, start, "new\n") for start in starts]
    changed = [Splice(start, start + 4, "LINE") for start in starts]
    assert counted(text, [*deleted, Splice(len(text), len(text), "!")]) == (1, 201)
    assert counted(text, inserted) == (200, 0)
    assert counted(text, changed) == (200, 200)


def counted(text: str, splices: list[Splice]) -> tuple[int, int]:
    diff = diff_of(text, splices, "a/f", "b/f")
    assert "not shown" in diff.text
    return diff.added, diff.removed


def test_diff_supports_old_mac_line_endings() -> None:
    assert diff_of("a\rb\rc\r", [Splice(2, 3, "x")], "a/f", "b/f").text == (
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
    )


def test_diff_of_splices_equals_text_diff_when_all_lines_differ() -> None:
    chance = Random(5)
    fresh = count()
    for _ in range(500):
        text = "\n".join(f"line {number}" for number in range(chance.randrange(40)))
        text += "\n" * chance.randrange(2)
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(2 * chance.randrange(1, 4)))
        splices: list[Splice] = []
        for start, end in zip(cuts[::2], cuts[1::2], strict=True):
            if chance.random() < 0.5:  # whole lines
                start = text.rfind("\n", 0, start) + 1
                end = max(text.rfind("\n", 0, end) + 1, start)
            if end - start < 60 and (not splices or start >= splices[-1].end):
                shape = chance.choice(["", "{}", "{}\n", "{}\n{}", "{}\n{}\n"])
                splices.append(Splice(start, end, shape.format(next(fresh), next(fresh))))
        new = spliced(text, splices)
        made = diff_of(text, splices, "a/f", "b/f")
        assert made == unified(text, new, "f")
        assert rebuilt(text, made.text) == new
